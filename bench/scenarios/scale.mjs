import { measureLongest } from './scale/longest.mjs';
import { measureMemory } from './scale/memory.mjs';
import { measureThroughput } from './scale/throughput.mjs';

export const title = 'How speed, memory and the longest script grow with members, callers and pools';

/** Memory comes first, while the server is empty. */
export async function run(context) {
  const memory = await measureMemory(context);
  const throughput = await measureThroughput(context);
  const longest = await measureLongest(context);
  return { tables: [...throughput, memory, longest.table], checks: longest.checks };
}
