import { DiscoveryService } from '@nestjs/core';

/**
 * Marks a provider as a launcher of jobs. The class implements `Launcher` and is listed among the providers of any module of the
 * host application; queues name it in `launcher.type`:
 *
 *     @LauncherProvider()
 *     export class BatchLauncher implements Launcher { … }
 */
export const LauncherProvider = DiscoveryService.createDecorator();
