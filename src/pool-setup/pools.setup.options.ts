/** Injects `PoolsSetupOptions`; `poolsSetupOptions` makes them. */
export const POOLS_SETUP_OPTIONS = Symbol('POOLS_SETUP_OPTIONS');

export interface PoolsSetupOptions {
  /** The largest list of one source, in bytes. */
  maxBytes: number;
  /** How long reading a URL may take, in milliseconds. */
  timeoutMs: number;
  /** How long to wait for another import into the same pool, in milliseconds. */
  importWaitMs: number;
}

/** @param importMaxBytes the largest body of an import */
export function poolsSetupOptions(importMaxBytes: number): PoolsSetupOptions {
  return { maxBytes: importMaxBytes, timeoutMs: 30_000, importWaitMs: 30_000 };
}
