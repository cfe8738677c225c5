import { ServiceError } from '../../core/error.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { ReadPage, Search, ServerTools } from '../../core/server-tools.ts';
import type { Clock } from '../../lib/clock.ts';
import { createWithCitations } from '../citations/with-citations.ts';
import type { Generate, Generation } from '../generation.ts';
import { answerWithPrograms } from './answer-with-programs.ts';
import { openCode } from './code-session.ts';
import type { CodeNeeds } from './code-session.ts';
import { codeTool, withCodeTool } from './code-tool.ts';
import { offering, unofferedIn } from './offered-request.ts';
import { digestOf } from './conversation-digest.ts';
import type { Examine, Examined } from './examine.ts';
import { gather } from './gather.ts';
import { materialRoom } from './material-room.ts';
import { withMaterial } from './source-prompt.ts';
import type { Material } from './source-prompt.ts';
import { tellRun } from './tell-run.ts';
import { createTurn } from './turn.ts';
import type { Batch, Turn } from './turn.ts';

export interface ServerToolNeeds extends CodeNeeds {
  readonly generate: Generate;
  readonly examine: Examine;
  /** Absent: nothing can be searched, and a wish for it is refused. */
  readonly search: Search | undefined;
  /** Absent: a wish for pages is refused; searches that would read some do without. */
  readonly readPage: ReadPage | undefined;
  readonly clock: Clock;
  /** Of calls on our side. */
  readonly newId: () => string;
}

/**
 * The same generation for requests that let the model search, read pages and run programs while it answers: one stream of
 * several runs of the model, with the work between them told in its place. A request without such wishes is none of its business.
 *
 * This resolves when there is something to tell, so that what refuses a request before has its real status; what fails later
 * breaks the stream off, but for tools: their failures are told, and the answer goes on.
 *
 * @throws ServiceError as a generation; `unsupported` for a wish that nothing here can fulfil; `invalid-request` for several
 *   answers (n) of which each would run programs.
 */
export function createGenerateWithServerTools(needs: ServerToolNeeds): Generate {
  const { generate, examine } = needs;
  return async (request, on, context) => {
    const { serverTools } = request;
    if (!serverTools) return await generate(request, on, context);
    checkWishes(serverTools, request, needs);
    const turn = createTurn({ ...needs, request, on, context });
    try {
      const tool = serverTools.code ? codeTool(request.toolUse?.tools ?? []) : undefined;
      const examined = await examine(offering(request, tool), on, turn.context);
      const ignored = [
        ...examined.ignored,
        ...(hasUnwrittenMarks(request) ? ['search_options.enable_citation'] : []),
        ...unofferedIn(request),
      ];
      const source = answered(turn, examined, needs);
      const first = await source.next();
      if (first.done) throw new ServiceError('internal', 'An answer without a beginning.');
      return { batches: stream(first.value, source, turn), ignored };
    } catch (error) {
      turn.abort();
      throw error;
    }
  };
}

/** @throws ServiceError for what cannot be fulfilled, before any work. */
function checkWishes(
  { search: searchWish, pages, code }: ServerTools,
  { choices }: GenerationRequest,
  { search, readPage }: ServerToolNeeds,
): void {
  if (searchWish && !search)
    throw new ServiceError('unsupported', 'Web search is not set up here.', { param: 'enable_search' });
  if (pages && !readPage) throw new ServiceError('unsupported', 'Pages cannot be read here.', { param: 'tools' });
  if (code && choices > 1)
    throw new ServiceError(
      'invalid-request',
      `Range of n should be [1, 1] (n: ${choices}, with the code interpreter)`,
      {
        param: 'n',
      },
    );
}

/** In JSON a mark would be an error, and what looks like one is a list. */
function hasUnwrittenMarks({ outputFormat, serverTools }: GenerationRequest): boolean {
  const form = serverTools?.search?.citations;
  return outputFormat !== undefined && form !== undefined && form !== 'attached';
}

async function* answered(turn: Turn, examined: Examined, needs: ServerToolNeeds): AsyncGenerator<Batch> {
  const { request } = turn;
  const { search, code } = request.serverTools ?? {};
  const session = code ? await openCode(turn, code, needs) : undefined;
  const material = yield* gather(turn, needs);
  const citing =
    material.isSearched && !request.outputFormat ? createWithCitations(material.sources, search?.citations) : undefined;
  const tool = session ? codeTool(request.toolUse?.tools ?? []) : undefined;
  const { generation, asked } = await startAnswer(turn, { material, examined, tool });
  if (session && tool && withCodeTool(request.toolUse, tool)) {
    const { repeatsCalls } = examined;
    yield* answerWithPrograms(turn, { first: generation, request: asked, session, tool, repeatsCalls, citing });
    return;
  }
  yield* tellRun(turn, generation, { code: undefined, citing });
  turn.over();
  yield [{ type: 'end', usage: turn.usage() }];
}

interface Start {
  readonly material: Material;
  readonly examined: Examined;
  readonly tool: ReturnType<typeof codeTool> | undefined;
}

/** With as much of what was found as there is room for: no caller is refused for the length of what we have added. */
async function startAnswer(
  turn: Turn,
  { material, examined, tool }: Start,
): Promise<{ readonly generation: Generation; readonly asked: GenerationRequest }> {
  const { request } = turn;
  const { question } = digestOf(request.messages);
  const form = request.outputFormat ? undefined : request.serverTools?.search?.citations;
  const sample = material.sources.map(({ passage }) => passage.slice(0, SAMPLE_CHARS)).join('');
  let charactersMax = material.isSearched ? materialRoom(request, examined, sample) : 0;
  for (;;) {
    const messages = withMaterial(request.messages, material, { question, form, charactersMax });
    const asked = { ...request, messages };
    try {
      return { generation: await turn.run(offering(asked, tool)), asked };
    } catch (error) {
      const isTooLong = error instanceof ServiceError && error.kind === 'context-exceeded';
      if (!isTooLong || charactersMax === 0) throw error;
      charactersMax = charactersMax < ROOM_CHARS_MIN ? 0 : Math.floor(charactersMax / 2);
    }
  }
}

const SAMPLE_CHARS = 200;

/** Ours: less room is none. */
const ROOM_CHARS_MIN = 600;

/** By hand, as the runs themselves: `return` has to work at once, while a `next` waits and before the first one. */
const stream = (first: Batch, source: AsyncGenerator<Batch>, turn: Turn): Generation['batches'] => ({
  [Symbol.asyncIterator]() {
    let waiting: Batch | undefined = first;
    return {
      async next() {
        if (waiting) {
          const value = waiting;
          waiting = undefined;
          return { done: false, value };
        }
        try {
          const step = await source.next();
          if (step.done === true) turn.over();
          return step.done === true ? { done: true, value: undefined } : step;
        } catch (error) {
          turn.abort();
          throw error;
        }
      },
      async return() {
        turn.abort();
        return { done: true, value: undefined };
      },
    };
  },
});
