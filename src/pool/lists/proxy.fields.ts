/** The fields of a proxy by their plain names. */
export type Fields = ReadonlyMap<string, unknown>;

/** Under which names lists have the parts of a proxy, the usual one first. */
const NAMES = {
  scheme: ['protocol', 'scheme', 'type', 'protocols'],
  host: ['host', 'ip', 'hostname', 'ipaddress', 'address', 'proxy'],
  port: ['port'],
  username: ['username', 'user', 'login'],
  password: ['password', 'pass'],
  country: ['country', 'countrycode', 'countryiso', 'isocode'],
  countryName: ['isocode', 'code', 'countrycode', 'name'],
  place: ['geolocation', 'geo', 'location', 'ipdata'],
} as const;
type Part = keyof typeof NAMES;

/** A name without case, spaces, `_`, `-` and `.`: "IP Address" and "ip_address" are the same column. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[\s_.-]+/g, '');
}

/** The fields of an object; of names that come to the same the first counts. */
export function fieldsOf(record: object): Fields {
  const fields = new Map<string, unknown>();
  for (const [name, value] of Object.entries(record)) {
    const plain = plainName(name);
    if (!fields.has(plain)) fields.set(plain, value);
  }
  return fields;
}

/** Whether fields with these plain names say where a proxy is. */
export function namesHost(names: { has(name: string): boolean }): boolean {
  return NAMES.host.some((name) => names.has(name));
}

/** The first part of that kind that is not null and not empty. */
export function firstGiven(fields: Fields, part: Part): unknown {
  return NAMES[part]
    .map((name) => fields.get(name))
    .find((value) => value !== undefined && value !== null && value !== '');
}

/** The country of a proxy: a text, or one or two levels down as geolocation services nest it. */
export function countryOf(fields: Fields): string | undefined {
  const country = firstGiven(fields, 'country') ?? firstGiven(nested(firstGiven(fields, 'place')), 'country');
  const text = typeof country === 'string' ? country : firstGiven(nested(country), 'countryName');
  return typeof text === 'string' && text.trim() !== '' ? text.trim() : undefined;
}

function nested(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? fieldsOf(value) : new Map();
}
