import { ServiceError } from '../../../../core/error.ts';
import { getMessageText } from '../../../../core/message.ts';
import type { Message } from '../../../../core/message.ts';
import type { ResearchEvent, ResearchRequest } from '../../research.ts';
import { startTestHttp } from '../../../../http/__fixtures__/test-http.ts';
import { systemClock } from '../../../../lib/clock.ts';
import type { Endpoint } from '../../../../protocols/endpoint.ts';
import { TEST_ENTRY } from '../../../../protocols/native/generation/__fixtures__/golden-cases.ts';
import { createResearchGenerationHandler } from '../../protocol/endpoint.ts';
import { createTextGenerationEndpoint } from '../../../../protocols/native/generation/endpoint.ts';
import { readGoldenCases } from '../../protocol/__fixtures__/golden-cases.ts';
import type { Parley } from '../../../../../test/clients/harness.ts';

const entry = { ...TEST_ENTRY, name: 'svc-deep-research', interfaces: ['native', 'research'] } as const;

const rejectUnexpectedCall = (): Promise<never> => Promise.reject(new Error('unexpected call'));

/** User answers that control the stream: the second half of the events follows after a pause, or a failure follows. */
const PAUSE_ANSWER = 'Take your time';
const BREAK_ANSWER = 'Break off';

const getLastMessageText = (messages: readonly Message[]): string => {
  const last = messages.at(-1);
  return last ? getMessageText(last) : '';
};

const REPORT_EVENTS = readGoldenCases().find(({ name }) => name === 'report')?.events ?? [];

/** Returns the events of the golden report, with a first text that names the requested size. */
function createReportEvents({ reportSize }: ResearchRequest): readonly ResearchEvent[] {
  const at = REPORT_EVENTS.findIndex(({ type }) => type === 'report');
  return REPORT_EVENTS.toSpliced(at, 0, { type: 'report', text: `A ${reportSize} report. ` });
}

const createQuestionEvents = ({ messages }: ResearchRequest): readonly ResearchEvent[] => [
  { type: 'usage', inputTokens: 12, outputTokens: 0 },
  { type: 'question', text: `What of “${getLastMessageText(messages)}” ` },
  { type: 'usage', inputTokens: 12, outputTokens: 9 },
  { type: 'question', text: 'matters most to you?' },
  { type: 'end', reason: 'stop' },
];

/**
 * Starts the HTTP server with the native endpoint and a fake research pipeline in this process. After PAUSE_ANSWER the
 * stream pauses until a keep-alive event was sent.
 */
export async function startFakeResearchParley(): Promise<Parley> {
  /** Resumes the paused stream. */
  let onKeepAlive = (): void => undefined;
  async function* streamEvents(events: readonly ResearchEvent[], { messages }: ResearchRequest) {
    const answer = getLastMessageText(messages);
    const half = Math.floor(events.length / 2);
    yield events.slice(0, half);
    if (answer === BREAK_ANSWER) throw new ServiceError('engine-failed', 'It stopped.');
    if (answer === PAUSE_ANSWER)
      await new Promise<void>((resolve) => {
        onKeepAlive = resolve;
      });
    for (const event of events.slice(half)) yield [event];
  }
  const generation = createTextGenerationEndpoint({
    generate: rejectUnexpectedCall,
    translate: rejectUnexpectedCall,
    handlers: {
      research: createResearchGenerationHandler({
        streamPlan: false,
        research: { clarify: async (request) => streamEvents(createQuestionEvents(request), request) },
        runs: { open: async ({ request }) => streamEvents(createReportEvents(request), request) },
      }),
    },
    catalogue: () => ({ resolve: async (requestedName: string) => ({ requestedName, entry }) }),
    clock: systemClock,
  });
  const endpoint: Endpoint = {
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
  const server = await startTestHttp({ more: [endpoint], limits: { keepAliveMs: 100 } });
  return {
    address: server.url,
    baseUrl: `${server.url}/compatible-mode/v1`,
    key: 'sk-good',
    data: '',
    pid: process.pid,
    stop: async () => server[Symbol.asyncDispose](),
  };
}
