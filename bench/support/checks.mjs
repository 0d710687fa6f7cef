/** What a scenario requires: `{ what, value, bound, kind: 'at least' | 'at most' }` each. */
export class Checks {
  list = [];

  /** @returns how the requirement stands, for a cell; empty where nothing is required */
  atLeast(what, value, bound) {
    return this.add({ what, value, bound, kind: 'at least' });
  }

  /** @returns how the requirement stands, for a cell; empty where nothing is required */
  atMost(what, value, bound) {
    return this.add({ what, value, bound, kind: 'at most' });
  }

  add(check) {
    if (check.bound === undefined) return '';
    this.list.push(check);
    return describe(check);
  }
}

export function isMet({ value, bound, kind }) {
  return kind === 'at least' ? value >= bound : value <= bound;
}

/** For instance `>= 0.95: met`. */
export function describe(check) {
  return `${check.kind === 'at least' ? '>=' : '<='} ${check.bound}: ${isMet(check) ? 'met' : 'MISSED'}`;
}
