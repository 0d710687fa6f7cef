import type { LabelValue, Labels } from '../../pool/member.js';
import type { LabelRules, Policy } from './policy.settings.js';

/** What is said of one label: the values that count, or null where any does. */
interface LabelRule {
  name: string;
  values: ReadonlySet<LabelValue> | null;
}

/** Says why the labels of a member make it unfit, or null; labels are compared by type and value. */
export function compileLabelRules({ required = {}, forbidden = {} }: NonNullable<Policy['labels']>) {
  const wanted = rulesOf(required);
  const unwanted = rulesOf(forbidden);
  return (labels: Labels): string | null => {
    const missing = wanted.find((rule) => !matches(rule, labels));
    if (missing) return lacking(missing, labels);
    const found = unwanted.find((rule) => matches(rule, labels));
    return found
      ? `has ${found.values ? 'a forbidden value of the label' : 'the forbidden label'} ${quoted(found)}`
      : null;
  };
}

function rulesOf(rules: LabelRules): LabelRule[] {
  return Object.entries(rules).map(([name, rule]) => ({ name, values: rule === true ? null : new Set([rule].flat()) }));
}

function matches({ name, values }: LabelRule, labels: Labels): boolean {
  if (!Object.hasOwn(labels, name)) return false;
  return values === null || values.has(labels[name] as LabelValue);
}

function lacking(rule: LabelRule, labels: Labels): string {
  return Object.hasOwn(labels, rule.name)
    ? `has none of the required values of the label ${quoted(rule)}`
    : `lacks the required label ${quoted(rule)}`;
}

/** Names of labels may hold quotes and line ends. */
function quoted({ name }: LabelRule): string {
  return JSON.stringify(name);
}
