import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../core/error.ts';
import type { Meter } from '../core/telemetry.ts';
import { readBearer } from './authenticate.ts';
import type { TextResponse } from './write-response.ts';

export interface Readiness {
  readonly ready: boolean;
  /** Status of models, interfaces and tools. Sent to the operator unchanged. */
  readonly [fact: string]: unknown;
}

export interface ReadinessProbe {
  /** Reports whether the service can generate a token now. */
  checkReadiness(): Promise<Readiness>;
}

export interface ProbesDeps {
  readonly probes: ReadinessProbe;
  readonly meter: Meter;
  /**
   * Grants access to /ready and /metrics from other hosts. Without a token these answer on the loopback interface only.
   */
  readonly operatorToken?: string | undefined;
}

export interface Probe {
  readonly path: string;
  readonly operation: string;
  readonly handle: (request: IncomingMessage) => Promise<TextResponse>;
}

/**
 * Creates the probes for monitoring. /health is public; /ready and /metrics require the loopback interface or the
 * token.
 */
export function createProbes({ probes, meter, operatorToken }: ProbesDeps): readonly Probe[] {
  return [
    {
      path: '/health',
      operation: 'probe.health',
      handle: () => Promise.resolve({ status: 200, text: '{"status":"ok"}' }),
    },
    {
      path: '/ready',
      operation: 'probe.ready',
      async handle(request) {
        authorizeOperator(request, operatorToken);
        const readiness = await probes.checkReadiness();
        return { status: readiness.ready ? 200 : 503, text: JSON.stringify(readiness) };
      },
    },
    {
      path: '/metrics',
      operation: 'probe.metrics',
      async handle(request) {
        authorizeOperator(request, operatorToken);
        const { contentType, text } = await meter.renderMetrics();
        return { status: 200, text, contentType };
      },
    },
  ];
}

function authorizeOperator(request: IncomingMessage, token: string | undefined): void {
  const sent = readBearer(request.headers);
  if (token !== undefined && sent !== undefined && isEqualSecret(sent, token)) return;
  if (isLoopback(request)) return;
  const message =
    'Requests from other hosts need the operator token: send the header Authorization: Bearer OPERATOR_TOKEN.';
  throw new ServiceError('unauthenticated', message, { replacesPrescribedText: true });
}

/** A forwarded request does not count: behind a proxy every request comes from the loopback interface. */
function isLoopback({ socket, headers }: IncomingMessage): boolean {
  if (headers.forwarded !== undefined || headers['x-forwarded-for'] !== undefined) return false;
  return /^(::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '');
}

/** Compares in constant time, also tokens of different lengths. */
const isEqualSecret = (left: string, right: string): boolean => timingSafeEqual(hash(left), hash(right));

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
