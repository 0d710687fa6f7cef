import { z } from 'zod';

const name = z.string().min(1).max(128);
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

/** What a queue sets for the launcher `http`; paths are below the node's address, `{id}` in them is the job's id. */
export const httpOptionsSchema = z.strictObject({
  start: z.strictObject({
    path,
    idField: name.default('id').describe('Field of the body that holds the id'),
    payloadField: name
      .optional()
      .describe("Field that holds the payload; if absent the payload's fields stand beside the id"),
  }),
  status: z.strictObject({
    path: pathOfJob,
    stateField: name.default('state').describe('Field of the answer that says the state; dots lead into objects'),
    detailField: name.optional().describe('Field of the answer that says why it failed'),
    pending: states.default(['pending', 'queued', 'waiting', 'scheduled']),
    running: states.default(['running', 'started', 'active', 'in_progress']),
    finished: states.default(['finished', 'succeeded', 'success', 'completed', 'done']),
    failed: states.default(['failed', 'error', 'cancelled', 'canceled']),
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
