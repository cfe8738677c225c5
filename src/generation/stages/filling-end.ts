import type { ChoiceEvent } from '../../core/event.ts';
import { createTextBuffer } from './text-buffer.ts';
import type { EndDetector } from './line-pattern.ts';
import { createTextWindow } from './text-window.ts';
import type { Stage } from './stage.ts';

type Emit = (event: ChoiceEvent) => void;

/**
 * Ends the filling of a gap where the first of these detectors finds an end. Text that may become an end is held back,
 * so that a stream never contains text that the complete answer lacks.
 *
 * Models often do not stop at the end of the gap: they repeat the text after it, or write something like it.
 */
export function createFillingEndStage(detectors: readonly EndDetector[]): Stage<ChoiceEvent, ChoiceEvent> {
  const buffer = createTextBuffer();
  /** Text before this position was emitted. */
  let emittedEnd = 0;
  /** The character before `emittedEnd`; empty at the start. */
  let previousCharacter = '';
  let isEnded = false;
  /** The text at `emittedEnd` may become an end, and it ends with blanks. */
  let isUndecidedAfterBlank = false;

  /** @returns whether the filling has ended. */
  const emitDecided = (emit: Emit, isLast: boolean): boolean => {
    const text = buffer.slice(emittedEnd, buffer.end);
    const window = createTextWindow({
      text,
      start: emittedEnd,
      previousCharacter,
      isComplete: isLast,
    });
    let at = 0;
    let isFound = false;
    for (; at < text.length; at++) {
      const states = detectors.map((detect) => detect(window, at));
      isFound = states.includes('found');
      if (isFound || states.includes('open')) break;
    }
    emittedEnd += at;
    isUndecidedAfterBlank = at < text.length && text.trimEnd() !== text;
    previousCharacter = text[at - 1] ?? previousCharacter;
    buffer.emitUntil(emittedEnd, emit);
    return isFound;
  };

  const endChoice = (choice: number, emit: Emit): void => {
    isEnded = true;
    buffer.dropUntil(buffer.end);
    buffer.emitOwedTokens(emit);
    emit({ type: 'choice-end', choice, reason: 'stop' });
  };

  return {
    push(event, emit) {
      if (isEnded) return;
      if (event.type === 'text') {
        buffer.push(event);
        // Further blanks decide nothing; checking again for each would take quadratic time.
        if (isUndecidedAfterBlank && event.text.trim() === '') return;
        if (emitDecided(emit, false)) endChoice(event.choice, emit);
        return;
      }
      if (emitDecided(emit, true)) return endChoice(event.choice, emit);
      buffer.emitOwedTokens(emit);
      emit(event);
    },
    end() {
      // The choice-end event has released everything.
    },
  };
}
