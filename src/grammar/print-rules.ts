import type { Alternative, Atom, RuleBody, RuleEntry, RuleRef } from './rule-body.ts';

/** GBNF of all that is reached from `root`, which is called so. */
export function printRules(
  root: RuleRef,
  entries: readonly RuleEntry[],
  bodies: readonly (RuleBody | undefined)[],
): string {
  const uses = new Map<number, number>([[root.rule, 2]]);
  for (const body of bodies) {
    for (const alternative of body?.alternatives ?? []) {
      for (const atom of alternative) if (typeof atom !== 'string') uses.set(atom.rule, (uses.get(atom.rule) ?? 0) + 1);
    }
  }
  const nameOf = (rule: number): string =>
    entries[rule]?.written?.[0]?.name ?? (rule === root.rule ? 'root' : (entries[rule]?.name ?? ''));
  // A rule with one alternative and one user reads better where it is used.
  const inline = (atom: Atom): Alternative | undefined => {
    if (typeof atom === 'string' || uses.get(atom.rule) !== 1) return undefined;
    const alternatives = bodies[atom.rule]?.alternatives ?? [];
    return alternatives.length === 1 ? alternatives[0] : undefined;
  };
  const lines: string[] = [];
  const isPrinted = new Set<number>([root.rule]);
  const waiting = [root.rule];
  for (let rule = waiting.pop(); rule !== undefined; rule = waiting.pop()) {
    const written = entries[rule]?.written;
    if (written) {
      lines.push(...written.map(({ name, body }) => `${name} ::= ${body}`));
      continue;
    }
    const alternatives = (bodies[rule]?.alternatives ?? []).map((alternative) => {
      const printed: string[] = [];
      // Not recursive: an object of many properties is a chain as long.
      const atoms = [...alternative].reverse();
      for (let atom = atoms.pop(); atom !== undefined; atom = atoms.pop()) {
        const inner = inline(atom);
        if (inner) {
          for (const each of [...inner].reverse()) atoms.push(each);
        } else if (typeof atom === 'string') printed.push(atom);
        else {
          printed.push(nameOf(atom.rule));
          if (!isPrinted.has(atom.rule)) {
            isPrinted.add(atom.rule);
            waiting.push(atom.rule);
          }
        }
      }
      return joinTexts(printed);
    });
    lines.push(`${nameOf(rule)} ::= ${alternatives.join(' | ')}`);
  }
  if (nameOf(root.rule) !== 'root') lines.unshift(`root ::= ${nameOf(root.rule)}`);
  return `${lines.join('\n')}\n`;
}

/** Neighbouring quoted texts become one. */
function joinTexts(atoms: readonly string[]): string {
  const joined: string[] = [];
  for (const atom of atoms) {
    const last = joined.at(-1);
    if (isQuoted(atom) && last !== undefined && isQuoted(last))
      joined[joined.length - 1] = last.slice(0, -1) + atom.slice(1);
    else joined.push(atom);
  }
  return joined.length === 0 ? '""' : joined.join(' ');
}

const isQuoted = (atom: string): boolean => /^"(?:[^"\\]|\\.)*"$/.test(atom);
