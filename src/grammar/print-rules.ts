import type { RuleAlternative, RuleAtom, RuleBody, RuleEntry, RuleRef } from './rule-body.ts';

/** Formats all rules that are reachable from `root`; the start rule is named `root`. */
export function printRules(
  root: RuleRef,
  entries: readonly RuleEntry[],
  bodies: readonly (RuleBody | undefined)[],
): string {
  const useCounts = new Map<number, number>([[root.rule, 2]]);
  for (const body of bodies) {
    for (const alternative of body?.alternatives ?? []) {
      for (const atom of alternative)
        if (typeof atom !== 'string') useCounts.set(atom.rule, (useCounts.get(atom.rule) ?? 0) + 1);
    }
  }
  const getRuleName = (rule: number): string =>
    entries[rule]?.gbnfRules?.[0]?.name ?? (rule === root.rule ? 'root' : (entries[rule]?.name ?? ''));
  // Inlines a rule that has one alternative and is used once.
  const getInlineAlternative = (atom: RuleAtom): RuleAlternative | undefined => {
    if (typeof atom === 'string' || useCounts.get(atom.rule) !== 1) return undefined;
    const alternatives = bodies[atom.rule]?.alternatives ?? [];
    return alternatives.length === 1 ? alternatives[0] : undefined;
  };
  const lines: string[] = [];
  const isPrinted = new Set<number>([root.rule]);
  const stack = [root.rule];
  for (let rule = stack.pop(); rule !== undefined; rule = stack.pop()) {
    const gbnfRules = entries[rule]?.gbnfRules;
    if (gbnfRules) {
      lines.push(...gbnfRules.map(({ name, body }) => `${name} ::= ${body}`));
      continue;
    }
    const alternatives = (bodies[rule]?.alternatives ?? []).map((alternative) => {
      const printed: string[] = [];
      // Iterative, because an object of many properties is an equally long chain of rules.
      const atoms = [...alternative].reverse();
      for (let atom = atoms.pop(); atom !== undefined; atom = atoms.pop()) {
        const inner = getInlineAlternative(atom);
        if (inner) {
          for (const each of [...inner].reverse()) atoms.push(each);
        } else if (typeof atom === 'string') printed.push(atom);
        else {
          printed.push(getRuleName(atom.rule));
          if (!isPrinted.has(atom.rule)) {
            isPrinted.add(atom.rule);
            stack.push(atom.rule);
          }
        }
      }
      return joinQuotedTexts(printed);
    });
    lines.push(`${getRuleName(rule)} ::= ${alternatives.join(' | ')}`);
  }
  if (getRuleName(root.rule) !== 'root') lines.unshift(`root ::= ${getRuleName(root.rule)}`);
  return `${lines.join('\n')}\n`;
}

/** Joins adjacent quoted texts. */
function joinQuotedTexts(atoms: readonly string[]): string {
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
