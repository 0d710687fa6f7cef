import { DiscoveryService } from '@nestjs/core';

/**
 * Marks a provider as a prober of members. The class implements `MemberProber` and is listed among the providers of any module of
 * the host application; pools name it in `probe.prober`:
 *
 *     @MemberProberProvider()
 *     export class AccountProber implements MemberProber { … }
 */
export const MemberProberProvider = DiscoveryService.createDecorator();
