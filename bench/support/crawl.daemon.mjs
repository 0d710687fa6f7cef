import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * A node that speaks as much of scrapyd's API as dispatch needs. Its jobs end at once, or where they are held never.
 *
 * @returns what it counts, and `hold` to change
 */
export async function startDaemon() {
  const jobs = new Map();
  const daemon = { hold: true, started: 0, jobs };
  const isRunning = (id) => jobs.get(id) && (daemon.hold || !jobs.get(id).isOver);
  const live = () => [...jobs.values()].filter(({ isOver }) => !isOver).length;
  const routes = {
    '/daemonstatus.json': () => ({ pending: 0, running: live(), finished: 0 }),
    '/schedule.json': (form) => {
      const jobid = form.get('jobid');
      jobs.set(jobid, { isOver: !daemon.hold });
      daemon.started += 1;
      return { jobid };
    },
    '/status.json': (query) => {
      const id = query.get('job');
      return { currstate: !jobs.has(id) ? null : isRunning(id) ? 'running' : 'finished' };
    },
    '/listjobs.json': () => {
      const list = (over) => [...jobs].filter(([, { isOver }]) => isOver === over).map(([id]) => ({ id }));
      return { pending: [], running: list(false), finished: list(true).slice(-1_000) };
    },
  };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const answer = routes[pathname]?.(request.method === 'POST' ? new URLSearchParams(text) : searchParams);
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ status: 'ok', ...answer }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    daemon,
    url: `http://127.0.0.1:${server.address().port}`,
    /** What is held ends. */
    release() {
      daemon.hold = false;
      for (const job of jobs.values()) job.isOver = true;
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
