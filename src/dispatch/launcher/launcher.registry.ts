import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { namedProviders } from '../../selection/named.providers.js';
import { HttpLauncher } from './http.launcher.js';
import { LauncherProvider } from './launcher.decorator.js';
import type { Launcher } from './launcher.js';
import { ScrapydLauncher } from './scrapyd.launcher.js';

/** Knows every launcher by its name: the built-in ones and those that a host application provides. */
@Injectable()
export class LauncherRegistry implements OnModuleInit {
  private launchers?: ReadonlyMap<string, Launcher>;

  constructor(
    private readonly scrapyd: ScrapydLauncher,
    private readonly http: HttpLauncher,
    private readonly discovery: DiscoveryService,
  ) {}

  /** Looks once at start, so that two launchers of one name stop the application and not a later start. */
  onModuleInit(): void {
    this.all();
  }

  find(name: string): Launcher | undefined {
    return this.all().get(name);
  }

  names(): string[] {
    return [...this.all().keys()].sort();
  }

  private all(): ReadonlyMap<string, Launcher> {
    this.launchers ??= namedProviders<Launcher>(
      'launchers',
      [this.scrapyd, this.http],
      this.discovery,
      LauncherProvider,
    );
    return this.launchers;
  }
}
