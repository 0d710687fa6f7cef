import { DiscoveryService } from '@nestjs/core';

/**
 * Marks a provider as a selection strategy. The class implements `SelectionStrategy` and is listed among the providers of
 * any module of the host application:
 *
 *     @SelectionStrategyProvider()
 *     export class AnyMemberStrategy implements SelectionStrategy { … }
 */
export const SelectionStrategyProvider = DiscoveryService.createDecorator();
