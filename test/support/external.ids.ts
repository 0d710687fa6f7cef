/** The job that an external id was made for: each attempt has one of its own. */
export function jobOf(externalId: string): string {
  return externalId.slice(0, externalId.lastIndexOf('-'));
}
