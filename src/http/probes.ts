import type { IncomingMessage } from 'node:http';
import type { Meter } from '../core/telemetry.ts';
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
  /** Refuses requests for /ready and /metrics of anybody but the operator. */
  readonly authorizeOperator: (request: IncomingMessage) => void;
}

export interface Probe {
  readonly path: string;
  readonly operation: string;
  readonly handle: (request: IncomingMessage) => Promise<TextResponse>;
}

/** Creates the probes for monitoring. /health is public; /ready and /metrics are the operator's. */
export function createProbes({ probes, meter, authorizeOperator }: ProbesDeps): readonly Probe[] {
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
        authorizeOperator(request);
        const readiness = await probes.checkReadiness();
        return { status: readiness.ready ? 200 : 503, text: JSON.stringify(readiness) };
      },
    },
    {
      path: '/metrics',
      operation: 'probe.metrics',
      async handle(request) {
        authorizeOperator(request);
        const { contentType, text } = await meter.renderMetrics();
        return { status: 200, text, contentType };
      },
    },
  ];
}
