// The least that a selection over HTTP can cost: one Fastify route, one EVALSHA a request, the answer put together by hand.
// Its headers are given, so that its answer has the same bytes as the one that it is compared with.
import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { selectScript } from './select.script.mjs';

const [port, redisPort, pool, givenHeaders] = process.argv.slice(2);
const headers = JSON.parse(givenHeaders);
const { call } = await selectScript(new Redis(Number(redisPort)), pool);
const app = fastify();

app.post('/v1/pools/:pool/selections', async (_, reply) => {
  const [id, count] = (await call())[1].split('\n', 2);
  reply.headers(headers);
  return `{"selection":{"member":{"id":"${id}","value":"${id}","labels":{}},"assigned":${count},"lease":null},"reason":null,"retryAfterMs":null}`;
});

process.once('SIGTERM', () => process.exit());
await app.listen({ host: '127.0.0.1', port: Number(port) });
