import assert from 'node:assert/strict';
import { it } from 'node:test';
import { spokenSounds } from './spoken-sounds.ts';

it('spells alike what sounds alike, a letter for each sound', () => {
  for (const [one, other] of [
    ['Philipp', 'Filip'],
    ['Szczepan', 'Shepan'],
    ['Xavier', 'Ksavier'],
    ['queen', 'keen'],
    ['Cecilia', 'Sesilia'],
    ['Thorbjørn Löw', 'Torbiørn Lov'],
    ['Keane', 'Kine'],
    ['Zoë', 'Zoe'],
  ] as const)
    assert.deepEqual(spokenSounds(one), spokenSounds(other), one);
  assert.deepEqual(spokenSounds("It's 2 o'clock!"), ['it', 's', '2', 'o', 'klok']);
  assert.deepEqual(spokenSounds(' … '), []);
});
