import { measureLabels } from './narrow/labels.mjs';
import { measureOneTarget } from './narrow/one.target.mjs';
import { measureTargets } from './narrow/targets.mjs';

export const title =
  'What it costs to ask for labels, or for a target where members are banned, beside a plain selection';

export async function run(context) {
  const found = [await measureLabels(context), await measureTargets(context), await measureOneTarget(context)];
  return { tables: found.map(({ table }) => table), checks: found.flatMap(({ checks }) => checks) };
}
