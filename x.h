/*
 * Model 'arm', hash 31bfdf585b130a7087098e744715f3279e3e9bda95a9fa00cb2113f1cf76e72b
 * Written by bough 0.1.0
 */
#ifndef ARM_X_H
#define ARM_X_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * arm_gravity: the torque that holds the mechanism at rest against gravity.
 * 126 operations and constants, 64 bytes of workspace on the stack.
 * Arrays are row-major and must not overlap.
 *   in   q[4]
 *   out  tau[4]
 */
#define ARM_GRAVITY_Q_SIZE 4
#define ARM_GRAVITY_TAU_SIZE 4
void arm_gravity(const double *q, double *tau);

#ifdef __cplusplus
}
#endif

#endif
