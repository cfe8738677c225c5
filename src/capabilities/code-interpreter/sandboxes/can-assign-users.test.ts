import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canAssignUsers } from './can-assign-users.ts';

const ALL = '000001ffffffffff';
/** The capabilities of root in a container by default. */
const CONTAINER = '00000000a80425fb';
const WHOLE = '         0          0 4294967295\n';
const ROOTLESS = '         0       1000          1\n         1     100000      65536\n';

const readFile =
  (capabilities: string, map: string) =>
  (path: string): string =>
    path.endsWith('uid_map') ? map : `Name:\tnode\nCapPrm:\t${capabilities}\nCapEff:\t${capabilities}\n`;

test('assigns users as root of the machine only: not without privileges, and not where ids are not mapped', () => {
  assert.equal(canAssignUsers(readFile(ALL, WHOLE)), true);
  assert.equal(canAssignUsers(readFile(CONTAINER, WHOLE)), false);
  assert.equal(canAssignUsers(readFile(ALL, ROOTLESS)), false);
  assert.equal(canAssignUsers(readFile('0000000000000000', WHOLE)), false);
});

test('assigns no users where the system does not describe processes', () => {
  const fail = (): never => {
    throw new Error('no such file');
  };
  assert.equal(canAssignUsers(fail), false);
  assert.equal(
    canAssignUsers(() => ''),
    false,
  );
});
