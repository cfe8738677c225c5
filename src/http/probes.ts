import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/error.ts';
import type { Meter } from '../core/telemetry.ts';
import { readBearer } from './authenticate.ts';
import type { Answer } from './reply.ts';

export interface Readiness {
  readonly ready: boolean;
  /** What is on, off, and why; shown as it is. */
  readonly [fact: string]: unknown;
}

export interface Probes {
  /** Whether a token can be generated now. */
  ready(): Promise<Readiness>;
}

export interface ProbesNeeds {
  readonly probes: Probes;
  readonly meter: Meter;
  /** Opens /ready and /metrics from elsewhere; without one they answer on the loopback only. */
  readonly operatorToken?: string | undefined;
}

export interface Probe {
  readonly path: string;
  readonly operation: string;
  readonly answer: (request: IncomingMessage) => Promise<Answer>;
}

/** What is asked by machines that watch the service. /health is public; the others need the loopback or the token. */
export function createProbes({ probes, meter, operatorToken }: ProbesNeeds): readonly Probe[] {
  return [
    {
      path: '/health',
      operation: 'probe.health',
      answer: () => Promise.resolve({ status: 200, text: '{"status":"ok"}' }),
    },
    {
      path: '/ready',
      operation: 'probe.ready',
      async answer(request) {
        checkOperator(request, operatorToken);
        const readiness = await probes.ready();
        return { status: readiness.ready ? 200 : 503, text: JSON.stringify(readiness) };
      },
    },
    {
      path: '/metrics',
      operation: 'probe.metrics',
      async answer(request) {
        checkOperator(request, operatorToken);
        const { contentType, text } = await meter.expose();
        return { status: 200, text, contentType };
      },
    },
  ];
}

function checkOperator(request: IncomingMessage, token: string | undefined): void {
  const sent = readBearer(request.headers);
  if (token !== undefined && sent !== undefined && isSame(sent, token)) return;
  if (isLoopback(request)) return;
  throw new ServiceError('unauthenticated', 'From elsewhere than the loopback this needs the operator token.');
}

/** Behind a proxy every request comes from the loopback: one that says it was forwarded is not from there. */
function isLoopback({ socket, headers }: IncomingMessage): boolean {
  if (headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined) return false;
  return /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '');
}

/** In constant time, also for tokens of different lengths. */
const isSame = (one: string, other: string): boolean => timingSafeEqual(hash(one), hash(other));

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
