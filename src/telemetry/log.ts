import { pino, type DestinationStream } from 'pino';
import type { Log } from '../core/telemetry.ts';

export interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
  /** Destination of the lines. Default: standard output. */
  readonly destination?: DestinationStream;
  /** Number of the process, added to each line. */
  readonly worker?: number;
}

/** Characters of an error's message in a line, so that a huge message does not fill the log. */
const ERROR_MESSAGE_CHARS_MAX = 2_000;

/** Nested causes of an error that are written. */
const CAUSES_MAX = 3;

/**
 * Creates a log of JSON lines: one per request and one per event of the service.
 *
 * Nothing is redacted here, because callers name every field and pass no secrets. Only the name, message, stack and
 * causes of an error are written, because its other fields could contain anything.
 */
export function createLog({ level, destination, worker }: LogOptions): Log {
  const base = worker === undefined ? null : { worker };
  const options = { level, base, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: formatLevel } };
  const logger = destination ? pino(options, destination) : pino(options);
  return {
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields = {}) => {
      const { error, ...rest } = fields;
      logger.error(error === undefined ? rest : { ...rest, error: describeError(error, CAUSES_MAX) }, message);
    },
  };
}

const formatLevel = (label: string): { level: string } => ({ level: label });

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
