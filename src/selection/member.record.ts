import type { Labels } from '../pool/member.js';

/** What a member's record in Redis holds; lua/include/member-record.lua describes its form. */
export interface MemberRecord {
  weight: number;
  capacity: number | null;
  /** How far the count that the strategy compares is ahead of the number of selections. */
  offset: number;
  value: string;
  labels: Labels;
}

const NO_LABELS: Labels = Object.freeze({});

/** Reads the record of the member with this id. */
export function readRecord(id: string, text: string): MemberRecord {
  const numbersEnd = text.indexOf('\n');
  const valueEnd = text.indexOf('\n', numbersEnd + 1);
  const [weight, capacity, offset] = text.slice(0, numbersEnd).split(' ');
  return {
    weight: Number(weight),
    capacity: capacity === '-' ? null : Number(capacity),
    offset: Number(offset),
    value: valueEnd === numbersEnd + 1 ? id : (JSON.parse(text.slice(numbersEnd + 1, valueEnd)) as string),
    labels: valueEnd === text.length - 1 ? NO_LABELS : (JSON.parse(text.slice(valueEnd + 1)) as Labels),
  };
}

/** Labels as the record holds them: the same labels always give the same text. */
export function writeLabels(labels: Labels): string {
  const names = Object.keys(labels).sort();
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, labels[name]])));
}
