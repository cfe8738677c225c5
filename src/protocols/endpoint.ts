import type { RequestContext } from '../core/context.ts';
import type { RegionId } from '../core/region.ts';
import type { StreamEncoder } from './stream-encoder.ts';

/** Which error shape and which credentials a path has. */
export type Family = 'compatible' | 'messages' | 'native';

export interface Deprecation {
  /** Unix seconds. */
  readonly since: number;
  /** Of a request's own target. */
  readonly successor: (target: string) => string;
}

export interface EndpointRequest {
  /** Parsed JSON, or undefined where there is no body. Not validated yet. */
  readonly body: unknown;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** What an endpoint wants said; `http` says it. */
export type Reply =
  | {
      readonly type: 'json';
      readonly status: number;
      readonly body: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly type: 'stream';
      /** Already bound to its source: the pump knows bytes only. */
      readonly batches: AsyncIterable<readonly unknown[]>;
      readonly encoder: StreamEncoder<unknown>;
      readonly headers?: Readonly<Record<string, string>>;
    };

export interface Endpoint {
  /** Names the operation in logs and metrics, e.g. `chat-completions.create`. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `:name` for path parameters. A path under /compatible-mode/v1 is also served under /v1. */
  readonly path: string;
  readonly family: Family;
  /** Where the specification offers it. */
  readonly regions: readonly RegionId[];
  /** Served for callers who know no better; every answer names what took its place. */
  readonly deprecated?: Deprecation;
  /** `cancel`: the work stops when the caller leaves. `finish`: it goes on. */
  readonly onDisconnect: 'cancel' | 'finish';
  handle(request: EndpointRequest, context: RequestContext): Promise<Reply>;
}

export const json = (body: unknown, headers?: Readonly<Record<string, string>>): Reply => ({
  type: 'json',
  status: 200,
  body,
  ...(headers ? { headers } : {}),
});

export function stream<Event>(
  batches: AsyncIterable<readonly Event[]>,
  encoder: StreamEncoder<Event>,
  headers?: Readonly<Record<string, string>>,
): Reply {
  // The pair is type-checked here; behind this line nobody looks inside an event.
  return { type: 'stream', batches, encoder: encoder as StreamEncoder<unknown>, ...(headers ? { headers } : {}) };
}
