import type { ResponseHeadInfo } from '../family-headers.ts';

/** Encodes the gateway's response headers; times are whole milliseconds (docs/wire/clients.md#response-headers). */
export function encodeNativeHeaders({
  arrivedAt,
  elapsedMs,
  isComplete,
}: ResponseHeadInfo): Readonly<Record<string, string>> {
  const arrived = Math.round(arrivedAt);
  const cost = Math.round(elapsedMs);
  return {
    'x-dashscope-call-gateway': 'true',
    'x-dashscope-finished': String(isComplete),
    'req-arrive-time': String(arrived),
    'resp-start-time': String(arrived + cost),
    'req-cost-time': String(cost),
    'cache-control': 'no-cache',
    vary: 'Origin,Accept-Encoding',
  };
}
