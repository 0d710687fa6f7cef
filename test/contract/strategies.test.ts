import { AnyMemberStrategy } from './host.strategies.js';
import { describeStrategyContract } from './strategy.contract.js';

describeStrategyContract('least-assigned');
describeStrategyContract('least-concurrency');
describeStrategyContract('least-recently-used');
describeStrategyContract('random');
describeStrategyContract('any-member', [AnyMemberStrategy]);
