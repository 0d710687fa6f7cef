import { RandomStrategy } from './host.strategies.js';
import { describeStrategyContract } from './strategy.contract.js';

describeStrategyContract('least-assigned');
describeStrategyContract('least-concurrency');
describeStrategyContract('random', [RandomStrategy]);
