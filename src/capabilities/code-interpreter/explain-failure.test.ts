import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { explainFailure, readSystemState } from './explain-failure.ts';

describe('explainFailure', () => {
  const host = { isRoot: false, isContainer: false };
  const unshare = 'namespaces: no process starts in it: unshare: unshare failed: Operation not permitted';
  const full = 'namespaces: no process starts in it: unshare: unshare failed: No space left on device';

  test('names the setting of the kernel that forbids user namespaces, and the command that allows them', () => {
    const cases = [
      [full, { ...host, maxUserNamespaces: '0' }, /user namespaces are off; run `sysctl user\.max_user_namespaces=/],
      [unshare, { ...host, unprivilegedUserNamespaces: '0' }, /`sysctl kernel\.unprivileged_userns_clone=1`/],
      [unshare, { ...host, apparmorRestriction: '1' }, /`sysctl kernel\.apparmor_restrict_unprivileged_userns=0`/],
    ] as const;
    for (const [reason, state, explanation] of cases) assert.match(explainFailure(reason, state) ?? '', explanation);
  });

  test('names the options of a container that forbids namespaces', () => {
    for (const reason of [unshare, unshare.replace('Operation not permitted', 'Function not implemented')]) {
      const explanation = explainFailure(reason, { ...host, isContainer: true, maxUserNamespaces: '1000' }) ?? '';
      assert.match(explanation, /--security-opt seccomp=unconfined --security-opt apparmor=unconfined/);
      assert.match(explanation, /Kubernetes/);
    }
  });

  test('advises another user for root, whose processes the system does not limit', () => {
    const reason = `bubblewrap: no process starts: not permitted; namespaces: it does not contain a program, which started 33 processes`;
    const state = { isRoot: true, isContainer: true };
    assert.match(explainFailure(reason, state) ?? '', /run the service as another user \(`docker run --user`\)/);
    assert.equal(explainFailure(reason, { ...state, isRoot: false, isContainer: false }), undefined);
  });

  test('names what a container engine lacks', () => {
    const cases = [
      ['podman: no process starts in it: Error: x: image not known', /Parley pulls no image; pull it/],
      ['docker: no process starts in it: docker: No such image: x:latest', /Parley pulls no image; pull it/],
      ['podman: no process starts in it: Error: container-init binary not found on the host', /package catatonit/],
      ['podman: no process starts in it: Error: crun: cgroups in hybrid mode not supported', /install runc, and set/],
    ] as const;
    for (const [reason, explanation] of cases) assert.match(explainFailure(reason, host) ?? '', explanation);
  });

  test('explains nothing that it does not know', () => {
    assert.equal(explainFailure(unshare, host), undefined);
    assert.equal(explainFailure('there is no unshare (package util-linux)', { ...host, isContainer: true }), undefined);
    assert.equal(
      explainFailure('namespaces: it does not contain a program, which read /etc/passwd', {
        ...host,
        isContainer: true,
      }),
      undefined,
    );
  });

  test('reads the state of this system', () => {
    const state = readSystemState();
    assert.equal(state.isRoot, process.getuid?.() === 0);
    assert.equal(typeof state.isContainer, 'boolean');
    if (process.platform === 'linux') assert.match(state.maxUserNamespaces ?? '', /^\d+$/);
  });
});
