import { ServiceError } from '../../src/core/error.ts';
import { textOf } from '../../src/core/message.ts';
import type { Message } from '../../src/core/message.ts';
import type { ResearchEvent, ResearchRequest } from '../../src/core/research.ts';
import { startHttp } from '../../src/http/__fixtures__/test-http.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Endpoint } from '../../src/protocols/endpoint.ts';
import { ENTRY } from '../../src/protocols/native/generation/__fixtures__/golden-cases.ts';
import { textGeneration } from '../../src/protocols/native/generation/endpoint.ts';
import { goldenCases } from '../../src/protocols/native/research/__fixtures__/golden-cases.ts';
import type { Parley } from './harness.ts';

const entry = { ...ENTRY, name: 'svc-deep-research', interfaces: ['native', 'research'] } as const;

const unasked = (): Promise<never> => Promise.reject(new Error('this is not asked for'));

/** What an answer like this one is told by: the rest of the events comes after a silence, or not at all. */
const PAUSE = 'Take your time';
const BREAK = 'Break off';

const lastOf = (messages: readonly Message[]): string => {
  const last = messages.at(-1);
  return last ? textOf(last) : '';
};

const report = goldenCases().find(({ name }) => name === 'report')?.events ?? [];

/** A report that says its size, about which nothing is looked up. */
function reportFor({ reportSize }: ResearchRequest): readonly ResearchEvent[] {
  const at = report.findIndex(({ type }) => type === 'report');
  return report.toSpliced(at, 0, { type: 'report', text: `A ${reportSize} report. ` });
}

const questionFor = ({ messages }: ResearchRequest): readonly ResearchEvent[] => [
  { type: 'usage', inputTokens: 12, outputTokens: 0 },
  { type: 'question', text: `What of “${lastOf(messages)}” ` },
  { type: 'usage', inputTokens: 12, outputTokens: 9 },
  { type: 'question', text: 'matters most to you?' },
  { type: 'end', reason: 'stop' },
];

/**
 * A Parley's front with the real interface, in this process; only what is researched is played. It keeps the wire, and is
 * silent where it is told to until a client has heard a KeepAlive.
 */
export async function startResearchParley(): Promise<Parley> {
  /** Ends the silence of whoever is silent. */
  let onKeepAlive = (): void => undefined;
  async function* play(events: readonly ResearchEvent[], { messages }: ResearchRequest) {
    const said = lastOf(messages);
    const half = Math.floor(events.length / 2);
    yield events.slice(0, half);
    if (said === BREAK) throw new ServiceError('engine-failed', 'It stopped.');
    if (said === PAUSE)
      await new Promise<void>((resolve) => {
        onKeepAlive = resolve;
      });
    for (const event of events.slice(half)) yield [event];
  }
  const generation = textGeneration({
    generate: unasked,
    translate: unasked,
    research: {
      streamPlan: false,
      research: { clarify: async (request) => play(questionFor(request), request) },
      runs: { open: async ({ request }) => play(reportFor(request), request) },
    },
    catalogue: () => ({ resolve: (asked: string) => ({ asked, entry }) }),
    clock: systemClock,
  });
  const telling: Endpoint = {
    ...generation,
    async handle(request, context) {
      const reply = await generation.handle(request, context);
      if (reply.type !== 'stream') return reply;
      const { encoder } = reply;
      const keepAlive = (): string => {
        onKeepAlive();
        return encoder.keepAlive();
      };
      return { ...reply, encoder: { ...encoder, keepAlive } };
    },
  };
  const front = await startHttp({ more: [telling], limits: { keepAliveMs: 100 } });
  return {
    address: front.url,
    baseUrl: `${front.url}/compatible-mode/v1`,
    key: 'sk-good',
    data: '',
    pid: process.pid,
    stop: async () => front[Symbol.asyncDispose](),
  };
}
