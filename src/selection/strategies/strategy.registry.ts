import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { StrategyUnknownError } from '../../errors/domain.errors.js';
import { namedProviders } from '../named.providers.js';
import { SelectionStrategyProvider } from './selection-strategy.decorator.js';
import type { SelectionStrategy } from './selection.strategy.js';

/** The strategies that Evenhand brings. */
export const BUILT_IN_STRATEGIES = Symbol('BUILT_IN_STRATEGIES');

/** Knows every strategy by its name: the built-in ones and those that a host application provides. */
@Injectable()
export class StrategyRegistry implements OnModuleInit {
  private strategies?: ReadonlyMap<string, SelectionStrategy>;

  constructor(
    @Inject(BUILT_IN_STRATEGIES) private readonly builtIn: readonly SelectionStrategy[],
    private readonly discovery: DiscoveryService,
  ) {}

  /** Looks once at start, so that two strategies of one name stop the application and not a later request. */
  onModuleInit(): void {
    this.all();
  }

  /** @throws StrategyUnknownError which lists the known ones */
  get(name: string): SelectionStrategy {
    const strategy = this.all().get(name);
    if (!strategy) throw new StrategyUnknownError(name, this.names());
    return strategy;
  }

  names(): string[] {
    return [...this.all().keys()].sort();
  }

  private all(): ReadonlyMap<string, SelectionStrategy> {
    this.strategies ??= namedProviders('selection strategies', this.builtIn, this.discovery, SelectionStrategyProvider);
    return this.strategies;
  }
}
