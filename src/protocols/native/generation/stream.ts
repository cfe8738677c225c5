import type { GenerationEvent, Usage } from '../../../core/event.ts';
import { assert } from '../../../lib/assert.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { encodeSseComment } from '../../../lib/sse.ts';
import { FINISH_REASONS } from '../../fields/finish-reason.ts';
import { encodeNumberedFrame } from '../../numbered-frame.ts';
import type { StreamEncoder } from '../../stream-encoder.ts';
import { encodeErrorFrame } from '../error-frame.ts';
import { createChoiceBuffer, type ChoiceBuffer } from './choice-buffer.ts';
import { encodeBody } from './body.ts';
import type { AnswerFormat } from './answer-format.ts';
import { listPrograms } from './output.ts';
import { createSearchInfoBuilder, EMPTY_SEARCH_INFO } from './search-info.ts';
import { createIncompleteAnswerError } from '../../../core/generation-errors.ts';

/**
 * Creates the encoder of a native generation stream (docs/wire/dashscope-native.md#generation-stream). Each event
 * contains one choice and the usage so far.
 *
 * An incremental stream has one event per piece. A cumulative stream has at most one event per choice for each `push`,
 * so that the caller's batching determines how often the answer is repeated. With several choices, each event counts
 * the tokens of its own choice: clients keep the last count of each choice and add them up.
 *
 * Search results are part of the next event and of the last one, or have their own events. A program is part of one
 * event, when it starts.
 *
 * The last event waits for the end of the run, whose usage is exact: the last counts of all choices add up to it.
 */
export function createGenerationStreamEncoder(format: AnswerFormat, requestId: string): StreamEncoder<GenerationEvent> {
  const choices = Array.from({ length: format.choiceCount }, (_, index) => createChoiceBuffer(index, format));
  const searchInfoBuilder = createSearchInfoBuilder();
  let runningChoices = choices.length;
  let prompt = { promptTokens: 0, cachedTokens: 0 };
  /** The choice that ended last, and its finish reason. */
  let last: { readonly choice: ChoiceBuffer; readonly reason: string } | undefined;
  let isFinished = false;
  let frameCount = 0;

  const getChoice = (index: number): ChoiceBuffer => {
    const choice = choices[index];
    assert(choice, 'a run has only the requested choices');
    return choice;
  };

  const encodeFrame = (content: Parameters<typeof encodeBody>[0]): string =>
    encodeNumberedFrame({
      id: ++frameCount,
      event: 'result',
      status: 200,
      data: encodeBody(content, format, requestId),
    });

  /** Search results: in the next event and once more in the last one, or in separate events and empty in all others. */
  const takeSearchInfo = (isLast: boolean): object | undefined => {
    if (format.sources === 'before') return EMPTY_SEARCH_INFO;
    return format.sources === 'beside' && (searchInfoBuilder.hasNewResults || isLast)
      ? searchInfoBuilder.takeAll()
      : undefined;
  };

  const encodeChoiceEvent = (choice: ChoiceBuffer, reason: string, usage: Usage, isLast = false): string =>
    encodeFrame({ choices: [choice.takeContent(reason)], searchInfo: takeSearchInfo(isLast), usage });

  const getUsageSoFar = ({ tokens, reasoningTokens }: ChoiceBuffer): Usage => ({
    ...prompt,
    completionTokens: tokens,
    ...omitNullish({ reasoningTokens }),
  });

  const encodeNewContent = (choice: ChoiceBuffer): string =>
    choice.hasNewContent ? encodeChoiceEvent(choice, 'null', getUsageSoFar(choice)) : '';

  /** Computes the usage of the choice that ended last: the total minus that of the other choices. */
  const computeLastUsage = (totalUsage: Usage, choice: ChoiceBuffer): Usage => {
    const others = choices.filter((each) => each !== choice);
    const sum = (count: (choice: ChoiceBuffer) => number): number =>
      others.reduce((total, other) => total + count(other), 0);
    return {
      ...totalUsage,
      completionTokens: Math.max(0, totalUsage.completionTokens - sum(({ tokens }) => tokens)),
      ...omitNullish({
        reasoningTokens:
          totalUsage.reasoningTokens &&
          Math.max(0, totalUsage.reasoningTokens - sum(({ reasoningTokens }) => reasoningTokens ?? 0)),
      }),
    };
  };

  const encodeEvent = (event: GenerationEvent): string => {
    switch (event.type) {
      case 'start':
        prompt = { promptTokens: event.inputTokens, cachedTokens: event.cachedTokens };
        return '';
      case 'prompt':
      case 'block-end':
        return '';
      case 'server-call': {
        const choice = getChoice(event.choice);
        choice.addPrograms(listPrograms(event.call));
        return format.isIncremental ? encodeNewContent(choice) : '';
      }
      case 'server-result':
        searchInfoBuilder.add(event.result);
        if (format.sources !== 'before' || !searchInfoBuilder.hasNewResults) return '';
        return encodeFrame({
          choices: [getChoice(event.choice).takeContent('null')],
          searchInfo: searchInfoBuilder.takeForPrependedEvent(),
          usage: undefined,
        });
      case 'block-start':
      case 'block-delta': {
        const choice = getChoice(event.choice);
        if (event.type === 'block-start') choice.startBlock(event);
        else choice.addDelta(event);
        return format.isIncremental ? encodeNewContent(choice) : '';
      }
      case 'choice-end': {
        const choice = getChoice(event.choice);
        const reason = FINISH_REASONS[event.reason];
        runningChoices--;
        if (runningChoices > 0) return encodeChoiceEvent(choice, reason, getUsageSoFar(choice));
        last = { choice, reason };
        return '';
      }
      case 'end':
        assert(last, 'every choice ends before the run does');
        isFinished = true;
        return encodeChoiceEvent(last.choice, last.reason, computeLastUsage(event.usage, last.choice), true);
    }
  };

  return {
    contentType: 'text/event-stream;charset=UTF-8',
    open: () => '',
    push(events) {
      let text = '';
      for (const event of events) text += encodeEvent(event);
      // In an incremental stream nothing is left here: each piece was encoded when it arrived.
      for (const choice of choices) text += encodeNewContent(choice);
      return text;
    },
    keepAlive: () => encodeSseComment('keep-alive'),
    fail: (error) => encodeErrorFrame(error, ++frameCount, requestId),
    close() {
      if (!isFinished) throw createIncompleteAnswerError();
      return '';
    },
  };
}
