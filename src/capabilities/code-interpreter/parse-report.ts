import type { InterpreterReport } from './child/messages.ts';
import { isRecord } from '../../lib/is-record.ts';

/**
 * Parses a line of a process that a program may have compromised.
 * @returns undefined for a line that is not a report.
 */
export function parseReport(line: string): InterpreterReport | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isRecord(parsed) || typeof parsed.nonce !== 'string') return undefined;
  const { nonce, type } = parsed;
  const text = (name: string): string => (typeof parsed[name] === 'string' ? parsed[name] : '');
  switch (type) {
    case 'ready':
      return { nonce, type };
    case 'snapshot':
      return { nonce, type, bytes: text('bytes') };
    case 'output':
      return { nonce, type, stream: parsed.stream === 'stderr' ? 'stderr' : 'stdout', bytes: text('bytes') };
    case 'file':
      return { nonce, type, name: text('name'), bytes: text('bytes') };
    case 'broken':
      return { nonce, type, reason: text('reason') };
    case 'done': {
      const { outcome } = parsed;
      if (!isRecord(outcome)) return undefined;
      const { value, error, isTruncated } = outcome;
      return {
        nonce,
        type,
        outcome: {
          ...(typeof value === 'string' && { value }),
          ...(typeof error === 'string' && { error }),
          isTruncated: isTruncated === true,
        },
      };
    }
    default:
      return undefined;
  }
}
