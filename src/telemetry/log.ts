import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import type { Log } from '../core/telemetry.ts';

export interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** Where the lines go; standard output when absent. */
  readonly destination?: DestinationStream;
  /** Which of several processes writes, in each line. */
  readonly worker?: number;
}

/** Characters of an error's message in a line. Ours: a runaway message must not fill the log. */
const ERROR_MESSAGE_CHARS_MAX = 2_000;

/** How many causes of a cause are written. Ours; more says nothing new. */
const CAUSES_MAX = 3;

/**
 * JSON lines, one per request and one per event of the service.
 *
 * Nothing is redacted here because nothing secret is handed in: facts are named one by one by those who log. Of an error
 * only name, message, stack and causes are taken, since its other fields could hold anything.
 */
export function createLog({ level, destination, worker }: LogOptions): Log {
  const base = worker === undefined ? null : { worker };
  const options = { level, base, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: levelName } };
  const logger = destination ? pino(options, destination) : pino(options);
  return {
    info: (message, facts) => logger.info(facts ?? {}, message),
    warn: (message, facts) => logger.warn(facts ?? {}, message),
    error: (message, facts = {}) => {
      const { error, ...rest } = facts;
      logger.error(error === undefined ? rest : { ...rest, error: describeError(error, CAUSES_MAX) }, message);
    },
  };
}

const levelName = (label: string): { level: string } => ({ level: label });

function describeError(error: unknown, causesLeft: number): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  return {
    name: error.name,
    message: error.message.slice(0, ERROR_MESSAGE_CHARS_MAX),
    stack: error.stack
      ?.split('\n')
      .filter((line) => line.trimStart().startsWith('at '))
      .join('\n'),
    ...(error.cause === undefined || causesLeft === 0 ? {} : { cause: describeError(error.cause, causesLeft - 1) }),
  };
}
