import type { Report } from './child/messages.ts';

/**
 * A line of a process that programs may have got hold of.
 * @returns undefined for what is no report.
 */
export function readReport(line: string): Report | undefined {
  let told: unknown;
  try {
    told = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(told) || typeof told.nonce !== 'string') return undefined;
  const { nonce, type } = told;
  const text = (name: string): string => (typeof told[name] === 'string' ? told[name] : '');
  switch (type) {
    case 'ready':
      return { nonce, type };
    case 'snapshot':
      return { nonce, type, bytes: text('bytes') };
    case 'printed':
      return { nonce, type, stream: told.stream === 'stderr' ? 'stderr' : 'stdout', bytes: text('bytes') };
    case 'file':
      return { nonce, type, name: text('name'), bytes: text('bytes') };
    case 'broken':
      return { nonce, type, reason: text('reason') };
    case 'done': {
      const { outcome } = told;
      if (!isObject(outcome)) return undefined;
      const { value, error, isCut } = outcome;
      return {
        nonce,
        type,
        outcome: {
          ...(typeof value === 'string' && { value }),
          ...(typeof error === 'string' && { error }),
          isCut: isCut === true,
        },
      };
    }
    default:
      return undefined;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
