import { z } from 'zod';

const name = z.string().min(1).max(128);
const field = name.refine((text) => text !== '__proto__', { error: 'cannot be the name of a field' });
/** Below the node's address: another host cannot be named. */
const path = z
  .string()
  .max(512)
  .regex(/^\/[^\s\\#]*$/, 'must begin with "/" and hold no white space, "\\" or "#"')
  .refine((text) => !text.startsWith('//'), { error: 'must not begin with "//"' });
const pathOfJob = path.refine((text) => text.includes('{id}'), {
  error: 'must hold {id}, which stands for the id of the job',
});
const states = z.array(name).min(1).max(50);
/** States that a node may name, in words of its own. */
export const NAMED_STATES = ['pending', 'running', 'finished', 'failed'] as const;

/** What a queue sets for the launcher `http`; paths are below the node's address, `{id}` in them is the job's id. */
export const httpOptionsSchema = z.strictObject({
  start: z
    .strictObject({
      path,
      idField: field.default('id').describe('Field of the body that holds the id'),
      payloadField: field
        .optional()
        .describe("Field that holds the payload; if absent the payload's fields stand beside the id"),
    })
    .refine(({ idField, payloadField }) => idField !== payloadField, {
      path: ['payloadField'],
      error: 'must not be the field that holds the id',
    }),
  status: z
    .strictObject({
      path: pathOfJob,
      stateField: name.default('state').describe('Field of the answer that says the state; dots lead into objects'),
      detailField: name.optional().describe('Field of the answer that says why it failed'),
      pending: states.default(['pending', 'queued', 'waiting', 'scheduled']),
      running: states.default(['running', 'started', 'active', 'in_progress']),
      finished: states.default(['finished', 'succeeded', 'success', 'completed', 'done']),
      failed: states.default(['failed', 'error', 'cancelled', 'canceled']),
    })
    .superRefine((status, context) => {
      for (const state of NAMED_STATES) {
        for (const word of status[state]) {
          const first = NAMED_STATES.find((each) => status[each].includes(word));
          if (first === state) continue;
          const message = `must not hold "${word}", which is in "${first}"`;
          context.addIssue({ code: 'custom', path: [state], message });
        }
      }
    }),
  cancel: z.strictObject({ method: z.enum(['POST', 'DELETE']).default('POST'), path: pathOfJob }).optional(),
  load: z
    .strictObject({
      path,
      field: name.default('load').describe('Field of the answer that says how many jobs the node has'),
    })
    .optional(),
});
export type HttpLauncherOptions = z.output<typeof httpOptionsSchema>;
