import { readPort } from '../../pool/lists/proxy.host.js';

/** Ports from the first to the last, both included. */
export interface PortRange {
  first: number;
  last: number;
}

/** Reads a port, or a range such as `8000-8999`; undefined for anything else, and where the last is below the first. */
export function readPorts(given: string | number): PortRange | undefined {
  const [firstText = '', lastText = firstText, ...more] = String(given).split('-');
  const first = readPort(firstText);
  const last = readPort(lastText);
  if (typeof first !== 'number' || typeof last !== 'number' || more.length > 0 || first > last) return undefined;
  return { first, last };
}
