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
  const [weight, capacity] = text.split(' ', 2);
  return {
    weight: Number(weight),
    capacity: capacity === '-' ? null : Number(capacity),
    offset: readOffset(text),
    value: readValue(id, text),
    labels: readLabels(text),
  };
}

export function readOffset(text: string): number {
  const end = text.indexOf('\n');
  return Number(text.slice(text.lastIndexOf(' ', end) + 1, end));
}

/** Nothing stands where the value is the id. */
export function readValue(id: string, text: string): string {
  const start = text.indexOf('\n') + 1;
  const end = text.indexOf('\n', start);
  return end === start ? id : (JSON.parse(text.slice(start, end)) as string);
}

export function readLabels(text: string): Labels {
  const start = text.lastIndexOf('\n') + 1;
  return start === text.length ? NO_LABELS : (JSON.parse(text.slice(start)) as Labels);
}

/** Labels as the record holds them: the same labels always give the same text. */
export function writeLabels(labels: Labels): string {
  const names = Object.keys(labels).sort();
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, labels[name]])));
}
