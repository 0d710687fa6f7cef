import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isoTime } from '../../../src/selection/leases/iso.time.js';
import { leaseIdOf, newToken, readLeaseId, readLeaseName } from '../../../src/selection/leases/lease.name.js';

const memberId = fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }).filter((id) => id.isWellFormed());

test('the id of a lease leads back to its name, its fence and its member, however often it is asked', () => {
  fc.assert(
    fc.property(memberId, fc.integer({ min: 1, max: 2 ** 52 }), fc.constantFrom('.', '~'), (id, fence, mark) => {
      const name = `${newToken()}${mark}${fence.toString(16)}.${id}`;
      for (let times = 0; times < 2; times++) {
        expect(readLeaseId(leaseIdOf(readLeaseName(name)))).toEqual({ name, fence, memberId: id });
      }
    }),
  );
});

test('another spelling of an id is none, also once the right one was seen', () => {
  const id = leaseIdOf(readLeaseName(`${newToken()}.1.ab`));
  expect(readLeaseId(id)?.memberId).toBe('ab');
  for (const spelling of [`${id}=`, id.replace(/.$/, 'J'), `${id}%`]) expect(readLeaseId(spelling)).toBeUndefined();
});

test('remembers more members than it keeps', () => {
  for (let n = 0; n < 10_000; n++) {
    const name = readLeaseName(`${newToken()}.1.member-${n}`);
    expect(readLeaseId(leaseIdOf(name))?.memberId).toBe(`member-${n}`);
  }
});

test('a time is written as Date writes it', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 4_102_444_800_000 }), { minLength: 1 }), (times) => {
      for (const ms of times.flatMap((time) => [time, time + 1, time + 999])) {
        expect(isoTime(ms)).toBe(new Date(ms).toISOString());
      }
    }),
  );
});
