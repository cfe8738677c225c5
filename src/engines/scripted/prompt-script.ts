import { ERROR_KINDS } from '../../core/error.ts';
import type { EngineRequest } from '../engine.ts';
import type { Script, Step } from './scripted-engine.ts';

/**
 * The script of a service that runs without a model (`engine.kind: scripted`): the caller's last message, or what a prompt
 * without messages says first, is the script when it begins with `script:` and a JSON list, e.g.
 * `script:["Hel","lo",{"delayMs":50},{"repeat":"x ","times":64,"perTick":1},{"fail":"engine-failed"},{"hang":true}]`; or
 * else the last line of it that does, as where a client or a tool puts words around. Any other text is echoed word by word.
 *
 * Where an answer takes several runs, each has its part: `{"when":"gave: 42","say":["It is 42."]}` is played, and nothing else of
 * the list, in runs whose prompt has these words beside the script. The first that fits counts; what has no `when` is for all others.
 */
export const promptScript: Script = (request) => {
  const prompt = promptOf(request);
  const text = lastUserText(request, prompt);
  const script = scriptOf(text);
  if (!script) return [{ type: 'tokens', tokens: `You said: ${text}`.match(/\s*\S+/g) ?? [] }];
  const beside = prompt.replaceAll(script.text, '');
  const fitting = script.list.map(partOf).find((part) => part && beside.includes(part.when));
  return (fitting?.say ?? script.list.filter((item) => !partOf(item))).flatMap(toSteps);
};

const MARK = 'script:';

function scriptOf(text: string): { readonly text: string; readonly list: readonly unknown[] } | undefined {
  const line = text.split('\n').findLast((each) => each.startsWith(MARK));
  for (const each of [text.startsWith(MARK) ? text : undefined, line]) {
    const list = each === undefined ? undefined : parseList(each.slice(MARK.length));
    if (each !== undefined && list) return { text: each, list };
  }
  return undefined;
}

/** What is for some runs only. */
function partOf(item: unknown): { readonly when: string; readonly say: readonly unknown[] } | undefined {
  if (typeof item !== 'object' || item === null) return undefined;
  const { when, say } = item as Record<string, unknown>;
  return typeof when === 'string' && Array.isArray(say) ? { when, say } : undefined;
}

const promptOf = ({ input }: EngineRequest): string =>
  input.type === 'segments' ? input.segments.map((segment) => segment.text).join('') : '';

function lastUserText({ input }: EngineRequest, prompt: string): string {
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

function toSteps(item: unknown): Step[] {
  if (typeof item === 'string') return [{ type: 'tokens', tokens: [item] }];
  if (typeof item !== 'object' || item === null) return [];
  const { delayMs, repeat, times, perTick, fail, hang, vanish } = item as Record<string, unknown>;
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
