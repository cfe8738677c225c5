import { ERROR_KINDS } from '../../core/error.ts';
import type { EngineRequest } from '../engine.ts';
import type { EngineScript, ScriptStep } from './scripted-engine.ts';
import { splitWords } from './split-words.ts';
import { isRecord } from '../../lib/is-record.ts';

/**
 * Parses the script of a service without a model (`engine.kind: scripted`). The script is the caller's last message, or
 * the first segment of a prompt without messages, if it starts with `script:` and a JSON list, for example
 * `script:["Hel","lo",{"delayMs":50},{"repeat":"x ","times":64,"perTick":1},{"fail":"engine-failed"},{"hang":true}]`.
 * Otherwise the last line that starts so is the script, because clients and tools may add text around it. Any other
 * text is echoed word by word.
 *
 * An answer may take several runs, each with its own part: `{"when":"gave: 42","say":["It is 42."]}` is played instead
 * of the rest of the list if the prompt contains the words of `when` outside the script. The first matching part
 * counts; items without `when` are for all other runs.
 */
export const parsePromptScript: EngineScript = (request) => {
  const prompt = getPromptText(request);
  const text = getLastUserText(request, prompt);
  const script = findScript(text);
  if (!script) return [{ type: 'tokens', tokens: splitWords(`You said: ${text}`) }];
  const otherText = prompt.replaceAll(script.text, '');
  const matching = script.list.map(parseConditionalPart).find((part) => part && otherText.includes(part.when));
  return (matching?.say ?? script.list.filter((item) => !parseConditionalPart(item))).flatMap(toSteps);
};

const SCRIPT_PREFIX = 'script:';

function findScript(text: string): { readonly text: string; readonly list: readonly unknown[] } | undefined {
  const line = text.split('\n').findLast((each) => each.startsWith(SCRIPT_PREFIX));
  for (const each of [text.startsWith(SCRIPT_PREFIX) ? text : undefined, line]) {
    const list = each === undefined ? undefined : parseList(each.slice(SCRIPT_PREFIX.length));
    if (each !== undefined && list) return { text: each, list };
  }
  return undefined;
}

/** Parses an item that applies only to prompts with certain words. */
function parseConditionalPart(item: unknown): { readonly when: string; readonly say: readonly unknown[] } | undefined {
  if (!isRecord(item)) return undefined;
  const { when, say } = item;
  return typeof when === 'string' && Array.isArray(say) ? { when, say } : undefined;
}

const getPromptText = ({ input }: EngineRequest): string =>
  input.type === 'segments' ? input.segments.map((segment) => segment.text).join('') : '';

function getLastUserText({ input }: EngineRequest, prompt: string): string {
  if (input.type !== 'segments') return '';
  const from = prompt.lastIndexOf('<|im_start|>user\n');
  const to = prompt.indexOf('<|im_end|>', from);
  if (from < 0) return input.segments.find(({ special }) => !special)?.text ?? '';
  return prompt.slice(from + '<|im_start|>user\n'.length, to < 0 ? undefined : to);
}

function parseList(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function toSteps(item: unknown): ScriptStep[] {
  if (typeof item === 'string') return [{ type: 'tokens', tokens: [item] }];
  if (!isRecord(item)) return [];
  const { delayMs, repeat, times, perTick, fail, hang, vanish } = item;
  if (typeof delayMs === 'number') return [{ type: 'delay', ms: delayMs }];
  if (typeof repeat === 'string') {
    const tokens = Array.from({ length: Number(times) || 1 }, () => repeat);
    return [{ type: 'tokens', tokens, ...(typeof perTick === 'number' ? { perTick } : {}) }];
  }
  const kind = ERROR_KINDS.find((known) => known === fail);
  if (kind) return [{ type: 'fail', kind }];
  if (hang === true) return [{ type: 'hang' }];
  return vanish === true ? [{ type: 'vanish' }] : [];
}
