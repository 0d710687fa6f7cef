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

/** How many lines a record has. */
export const RECORD_LINES = 4;

const NO_LABELS: Labels = Object.freeze({});

/** Reads the record of the member with this id. */
export function readRecord(id: string, text: string): MemberRecord {
  const [head = '', value = '', labels = ''] = text.split('\n', RECORD_LINES);
  const [weight, capacity] = head.split(' ', 2);
  return {
    weight: Number(weight),
    capacity: capacity === '-' ? null : Number(capacity),
    offset: readOffset(head),
    value: readValue(id, value),
    labels: readLabels(labels),
  };
}

/** @param head the first line of a record */
export function readOffset(head: string): number {
  return head.endsWith(' 0') ? 0 : Number(head.slice(head.lastIndexOf(' ') + 1));
}

/** @param line the second line of a record; nothing stands there where the value is the id */
export function readValue(id: string, line: string): string {
  return line === '' ? id : (JSON.parse(line) as string);
}

/** @param line the third line of a record */
export function readLabels(line: string): Labels {
  return line === '' ? NO_LABELS : (JSON.parse(line) as Labels);
}

/** Labels as the record holds them: the same labels always give the same text. */
export function writeLabels(labels: Labels): string {
  const names = Object.keys(labels).sort();
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, labels[name]])));
}

/** What members are judged by: the lines of the record that hold its value and its labels. */
export function basisOf(text: string | null): string {
  const [, value = '', labels = ''] = (text ?? '').split('\n', RECORD_LINES);
  return `${value}\n${labels}`;
}
