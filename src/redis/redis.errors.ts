import { types } from 'node:util';
import { RedisRefusedError, RedisUnavailableError } from '../errors/domain.errors.js';

/** Replies of a server that cannot serve now, but may in a moment. */
const AWAY: Readonly<Record<string, string>> = {
  READONLY: 'Redis is a read-only replica at the moment.',
  LOADING: 'Redis is still loading its data.',
  MASTERDOWN: 'Redis has lost its primary.',
  CLUSTERDOWN: 'The Redis Cluster is down.',
  TRYAGAIN: 'The Redis Cluster is moving these keys.',
  BUSY: 'Redis is busy with a script.',
  NOREPLICAS: 'Redis has too few replicas to take writes.',
  UNBLOCKED: 'Redis changed its role while the command waited.',
};

/** Replies of a server that works, and will go on saying no until somebody changes something. */
const REFUSED: Readonly<Record<string, string>> = {
  OOM: 'Redis is out of memory (OOM).',
  NOPERM: 'The Redis user lacks a permission that is needed (NOPERM).',
  NOAUTH: 'Redis asks for a password (NOAUTH).',
  WRONGPASS: 'Redis refused the user name or the password (WRONGPASS).',
  MISCONF: 'Redis takes no writes because it cannot save its data (MISCONF).',
  DENIED: 'Redis runs in protected mode and refuses connections from here (DENIED).',
};

const CONNECTION_LOST =
  /^(Connection is closed|Reached the max retries per request|Command aborted due to connection close|Socket timeout|Command timed out|connect ETIMEDOUT|None of startup nodes is available|Cluster is (ended|disconnect)|Failed to refresh slots cache|Client network socket disconnected)/;
const NOT_CONNECTED = /^(Stream isn't writeable|Cluster isn't ready|All sentinels are unreachable)/;
const TOO_MANY_REDIRECTIONS = /^Too many Cluster redirections/;
const NETWORK_CODE = /^(E[A-Z_]+|ERR_(TLS|SSL)_\w+|ERR_STREAM_\w+|\w*CERT\w*)$/;
/** How Redis before 7 words an error that a command raised within a script. */
const RAISED_IN_SCRIPT = /^ERR Error running script.*?-([A-Z]{3,}) /;
/** What a server of another age repeats of a command that it does not know: arguments, and so secrets. */
const REPEATED_ARGUMENTS = /,? with args beginning with:.*$/s;

/**
 * Turns an error of the Redis client into one of Evenhand's; what is neither an outage nor a refusal comes back as it
 * is, only without the arguments of the command, which may be secret.
 */
export function translateRedisError(error: unknown): Error {
  if (!types.isNativeError(error)) return new Error(String(error));
  const replyCode = replyCodeOf(error);
  const away = replyCode === undefined ? outageOf(error) : AWAY[replyCode];
  if (away !== undefined) return new RedisUnavailableError(away, { cause: withoutArguments(error) });
  const refused = replyCode === undefined ? undefined : REFUSED[replyCode];
  if (refused !== undefined) return new RedisRefusedError(refused, { cause: withoutArguments(error) });
  stripArguments(error);
  return error;
}

/** The message of a client's error in a form that may be logged. */
export function describeRedisError(error: unknown): string {
  if (!types.isNativeError(error)) return String(error);
  return causeOfRedisError(error).message.replace(REPEATED_ARGUMENTS, '');
}

/** Of an error that stands for several, such as "no node answers", one that says why. */
export function causeOfRedisError(error: Error): Error {
  const { lastNodeError, errors } = error as Error & { lastNodeError?: unknown; errors?: unknown[] };
  // A host name with several addresses fails with one error for all of them, which has no text of its own.
  const inner = lastNodeError ?? (error.message === '' ? errors?.[0] : undefined);
  return types.isNativeError(inner) ? causeOfRedisError(inner) : error;
}

/** Whether a server refused a write because it is a replica. */
export function isReadOnlyReply(error: Error): boolean {
  return replyCodeOf(error) === 'READONLY';
}

function replyCodeOf(error: Error): string | undefined {
  if (error.name !== 'ReplyError') return undefined;
  const inScript = RAISED_IN_SCRIPT.exec(error.message)?.[1];
  return inScript ?? /^-?([A-Z]+)\b/.exec(error.message)?.[1];
}

function outageOf(error: Error): string | undefined {
  if (NOT_CONNECTED.test(error.message)) return 'Redis is away. The command was not sent.';
  if (TOO_MANY_REDIRECTIONS.test(error.message)) return 'The Redis Cluster is changing its layout.';
  const code = (error as NodeJS.ErrnoException).code;
  if (CONNECTION_LOST.test(error.message) || (typeof code === 'string' && NETWORK_CODE.test(code))) {
    return 'Redis did not answer in time, or the connection to it was lost. The command may have been carried out.';
  }
  return undefined;
}

/** A copy to keep as a cause: the client hangs the whole command with its arguments on its own errors. */
function withoutArguments(error: Error): Error {
  const copy = new Error(describeRedisError(error));
  copy.name = error.name;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? Object.assign(copy, { code }) : copy;
}

function stripArguments(error: Error): void {
  const { command } = error as Error & { command?: { name?: string } };
  if (command) Object.assign(error, { command: { name: command.name } });
}
