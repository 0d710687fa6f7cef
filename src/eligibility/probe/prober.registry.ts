import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { ValidationFailedError } from '../../errors/domain.errors.js';
import { namedProviders } from '../../selection/named.providers.js';
import { MemberProberProvider } from './member-prober.decorator.js';
import type { MemberProber } from './member.prober.js';
import type { ProbeSettings } from './probe.settings.js';
import { ProxyProber } from './proxy.prober.js';

/** Knows every prober by its name: the built-in one and those that a host application provides. */
@Injectable()
export class ProberRegistry implements OnModuleInit {
  private probers?: ReadonlyMap<string, MemberProber>;

  constructor(
    private readonly proxyProber: ProxyProber,
    private readonly discovery: DiscoveryService,
  ) {}

  /** Looks once at start, so that two probers of one name stop the application and not a later probe. */
  onModuleInit(): void {
    this.all();
  }

  find(name: string): MemberProber | undefined {
    return this.all().get(name);
  }

  /** @throws ValidationFailedError which lists the known ones, where settings name another */
  require(settings: ProbeSettings | null): void {
    if (!settings || this.find(settings.prober)) return;
    const message = `must be a known prober: ${[...this.all().keys()].sort().join(', ')}`;
    throw new ValidationFailedError(`"probe.prober" ${message}.`, [{ path: 'probe.prober', message }]);
  }

  private all(): ReadonlyMap<string, MemberProber> {
    this.probers ??= namedProviders<MemberProber>('probers', [this.proxyProber], this.discovery, MemberProberProvider);
    return this.probers;
  }
}
