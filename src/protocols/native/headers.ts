import type { HeadFacts } from '../family-headers.ts';

/** wire.md 0.7: what tools around the clients read; times are whole milliseconds. */
export function nativeHeaders({ arrivedAt, elapsedMs, isComplete }: HeadFacts): Readonly<Record<string, string>> {
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
