import { isIPv6 } from 'node:net';
import type { Labels } from '../member.js';
import { parseAddress } from './address.parser.js';
import { type ListOptions, PROXY_SCHEMES, type ProxyScheme, type ReadMember, type Rejected } from './member.list.js';
import { type ProxyAddress, proxyMember, schemeOf, withCredentials } from './proxy.address.js';
import { countryOf, type Fields, firstGiven } from './proxy.fields.js';
import { readHost, readPort } from './proxy.host.js';

/** The member of a proxy whose parts stand in fields of their own; other fields are ignored. */
export function readProxyFields(fields: Fields, options: ListOptions): ReadMember {
  const read = readFields(fields, options.defaultScheme);
  if ('reason' in read) return read;
  const country = countryOf(fields);
  const note: Labels = read.note === undefined ? {} : { note: read.note };
  return proxyMember(read.address, { ...note, ...(country !== undefined && { country }) }, options.passwordTag);
}

interface AddressAndNote {
  address: ProxyAddress;
  note?: string;
}

function readFields(fields: Fields, defaultScheme: ProxyScheme): AddressAndNote | Rejected {
  const scheme = readScheme(firstGiven(fields, 'scheme'), defaultScheme);
  if (typeof scheme !== 'string') return scheme;
  const host = firstGiven(fields, 'host');
  if (typeof host !== 'string') return { reason: host === undefined ? 'no host' : 'the host is not a text' };
  const port = firstGiven(fields, 'port');
  const base = port === undefined ? parseAddress(host.trim(), scheme) : readAddressParts(scheme, host.trim(), port);
  if ('reason' in base) return base;
  return readCredentials(base, fields);
}

function readCredentials({ address, ...rest }: AddressAndNote, fields: Fields): AddressAndNote | Rejected {
  const username = firstGiven(fields, 'username');
  const password = firstGiven(fields, 'password');
  if (username === undefined && password === undefined) return { address, ...rest };
  if (username !== undefined && typeof username !== 'string') return { reason: 'the user is not a text' };
  if (password !== undefined && typeof password !== 'string') return { reason: 'the password is not a text' };
  const { scheme, host, port } = address;
  const complete = withCredentials({ scheme, host, port }, username, password);
  return 'reason' in complete ? complete : { address: complete, ...rest };
}

function readAddressParts(scheme: ProxyScheme, hostText: string, port: unknown): AddressAndNote | Rejected {
  const host = readHost(isIPv6(hostText) ? `[${hostText}]` : hostText);
  if (typeof host !== 'string') return host;
  if (typeof port !== 'string' && typeof port !== 'number')
    return { reason: 'the port is neither a number nor a text' };
  const number = readPort(String(port).trim());
  return typeof number === 'number' ? { address: { scheme, host, port: number } } : number;
}

/** The first scheme that is known among one or several. */
function readScheme(given: unknown, defaultScheme: ProxyScheme): ProxyScheme | Rejected {
  if (given === undefined) return defaultScheme;
  const words = [given].flat().flatMap((word) => (typeof word === 'string' ? word.split(/[\s,;|/]+/) : []));
  const known = words.map(schemeOf).find((scheme) => scheme !== undefined);
  return known ?? { reason: `the scheme is none of ${PROXY_SCHEMES.join(', ')}` };
}
