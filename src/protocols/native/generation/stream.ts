import { ServiceError } from '../../../core/error.ts';
import type { GenerationEvent, Usage } from '../../../core/event.ts';
import { assert } from '../../../lib/assert.ts';
import { present } from '../../../lib/present.ts';
import { sseComment } from '../../../lib/sse.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import { numberedFrame } from '../../numbered-frame.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { errorFrame } from '../error-frame.ts';
import { createChoiceSoFar } from './choice-so-far.ts';
import type { ChoiceSoFar } from './choice-so-far.ts';
import { encodeBody } from './body.ts';
import type { AnswerForm } from './form.ts';
import { programOf } from './output.ts';
import { createFindings, NO_SEARCH_INFO } from './search-info.ts';

/**
 * Events of wire.md 1.4: one choice in each, with the usage so far.
 *
 * An incremental stream has an event for each piece. A cumulative one has at most one a choice for each `push`, so that
 * whoever gathers events into batches decides how often the answer is repeated. With several choices each event counts the
 * tokens of its own choice: clients keep the last count of each and add them up.
 *
 * What a search found is told with the next event after it and with the last, or in events of its own; a program is told in
 * one event as it is begun.
 *
 * The last event is held until the run's own account is there: its usage is exact, and adds up to all that was consumed.
 */
export function generationStream(form: AnswerForm, requestId: string): StreamEncoder<GenerationEvent> {
  const choices = Array.from({ length: form.choices }, (_, index) => createChoiceSoFar(index, form));
  const findings = createFindings();
  let running = choices.length;
  let prompt = { promptTokens: 0, cachedTokens: 0 };
  /** The choice that ended last, and how. */
  let last: { readonly choice: ChoiceSoFar; readonly reason: string } | undefined;
  let isEnded = false;
  let frames = 0;

  const choiceAt = (index: number): ChoiceSoFar => {
    const choice = choices[index];
    assert(choice, 'a run has the choices that were asked for');
    return choice;
  };

  const frame = (told: Parameters<typeof encodeBody>[0]): string =>
    numberedFrame({ id: ++frames, event: 'result', status: 200, data: encodeBody(told, form, requestId) });

  /** wire.md 1.5: told with what comes next and once more at the end, or in an event of its own and then never. */
  const searchInfo = (isLast: boolean): object | undefined => {
    if (form.sources === 'before') return NO_SEARCH_INFO;
    return form.sources === 'beside' && (findings.isNew || isLast) ? findings.take() : undefined;
  };

  const say = (choice: ChoiceSoFar, reason: string, usage: Usage, isLast = false): string =>
    frame({ said: [choice.take(reason)], searchInfo: searchInfo(isLast), usage });

  const usageSoFar = ({ tokens, thoughtTokens }: ChoiceSoFar): Usage => ({
    ...prompt,
    completionTokens: tokens,
    ...present({ reasoningTokens: thoughtTokens }),
  });

  const sayRunning = (choice: ChoiceSoFar): string => (choice.isNew ? say(choice, 'null', usageSoFar(choice)) : '');

  /** What is left of the whole account for the choice that ended last. */
  const usageOfLast = (all: Usage, choice: ChoiceSoFar): Usage => {
    const others = choices.filter((each) => each !== choice);
    const sum = (count: (of: ChoiceSoFar) => number): number => others.reduce((total, of) => total + count(of), 0);
    return {
      ...all,
      completionTokens: Math.max(0, all.completionTokens - sum(({ tokens }) => tokens)),
      ...present({
        reasoningTokens:
          all.reasoningTokens && Math.max(0, all.reasoningTokens - sum(({ thoughtTokens }) => thoughtTokens ?? 0)),
      }),
    };
  };

  const take = (event: GenerationEvent): string => {
    switch (event.type) {
      case 'start':
        prompt = { promptTokens: event.inputTokens, cachedTokens: event.cachedTokens };
        return '';
      case 'block-end':
        return '';
      case 'server-call': {
        const choice = choiceAt(event.choice);
        choice.run(programOf(event.call));
        return form.isIncremental ? sayRunning(choice) : '';
      }
      case 'server-result':
        findings.add(event.result);
        if (form.sources !== 'before' || !findings.isNew) return '';
        return frame({
          said: [choiceAt(event.choice).take('null')],
          searchInfo: findings.takeBefore(),
          usage: undefined,
        });
      case 'block-start':
      case 'block-delta': {
        const choice = choiceAt(event.choice);
        if (event.type === 'block-start') choice.begin(event);
        else choice.add(event);
        return form.isIncremental ? sayRunning(choice) : '';
      }
      case 'choice-end': {
        const choice = choiceAt(event.choice);
        const reason = FINISH_REASONS[event.reason];
        running--;
        if (running > 0) return say(choice, reason, usageSoFar(choice));
        last = { choice, reason };
        return '';
      }
      case 'end':
        assert(last, 'every choice ends before the run does');
        isEnded = true;
        return say(last.choice, last.reason, usageOfLast(event.usage, last.choice), true);
    }
  };

  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push(events) {
      let text = '';
      for (const event of events) text += take(event);
      // Nothing is new in the pieces of an incremental stream: each was said when it came.
      for (const choice of choices) text += sayRunning(choice);
      return text;
    },
    keepAlive: () => sseComment('keep-alive'),
    fail: (error) => errorFrame(error, ++frames, requestId),
    close() {
      if (!isEnded) throw new ServiceError('engine-failed', 'The answer broke off before its end.');
      return '';
    },
  };
}
