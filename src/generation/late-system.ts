import type { Message } from '../core/message.ts';

/**
 * The conversation for a template that takes what the system says at the beginning only: what it says later, as agents let
 * it, is said by the user instead, in one turn with what stands beside it.
 *
 * @returns undefined where the system says nothing late.
 */
export function lateSystemAsUser(turns: readonly Message[]): readonly Message[] | undefined {
  const begins = turns.findIndex(({ role }) => !isSystem(role));
  const isLate = ({ role }: Message, index: number): boolean => index > begins && isSystem(role);
  if (begins < 0 || !turns.some(isLate)) return undefined;
  const said: Message[] = [];
  let joins = false;
  for (const [index, turn] of turns.entries()) {
    const wasLate = joins;
    joins = isLate(turn, index);
    const last = said.at(-1);
    if (!joins && !(wasLate && turn.role === 'user')) said.push(turn);
    else if (last?.role === 'user')
      said[said.length - 1] = { ...last, content: [...last.content, BLANK, ...turn.content] };
    else said.push({ role: 'user', content: turn.content });
  }
  return said;
}

const isSystem = (role: Message['role']): boolean => role === 'system' || role === 'developer';

const BLANK = { type: 'text', text: '\n\n' } as const;
