/*
 * A hand that follows a circle, controlled a thousand times a second.
 *
 *     python write_robot.py && cmake -B build && cmake --build build && ./build/control
 *
 * The controller knows the model; the robot that it moves carries a load of which it knows nothing. With "fast" as
 * argument ticks do not wait for the clock.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "robot.h"
#include "robot_inertias.h"
#include "task.h"

#define NV ROBOT_RUNGE_KUTTA_STEP_V_SIZE
#define LAST_BODY (sizeof inertias / sizeof inertias[0] - 10)

static const double dt = 1e-3, radius = 0.1, turn = 3.0, stiffness = 900.0, rate = 60.0;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The acceleration that brings the hand to the circle. */
static void wanted(double t, const double *center, const double *T, const double *nu, double *a)
{
    const double c = cos(turn * t), s = sin(turn * t);
    const double x[3] = {center[0] + radius * (c - 1.0), center[1] + radius * s, center[2]};
    const double v[3] = {-radius * turn * s, radius * turn * c, 0.0};
    const double ff[3] = {-radius * turn * turn * c, -radius * turn * turn * s, 0.0};
    int k;

    for (k = 0; k < 3; k++)
        a[k] = ff[k] + stiffness * (x[k] - T[4 * k + 3]) + rate * (v[k] - nu[k]);
}

int main(int count, char **words)
{
    const int fast = count > 1 && strcmp(words[1], "fast") == 0;
    double q[NV] = {0.3, -0.6, 0.9, 0.4, 0.7, 0.2}, v[NV] = {0}, q_after[NV], v_after[NV];
    double T[16], nu[6], drift[6], J[6 * NV], tau[NV], tau0[NV], a[3], center[3];
    double real[sizeof inertias / sizeof inertias[0]];
    const double step[1] = {1e-3}, damping[1] = {1e-6};
    double worst = 0.0, sum = 0.0, took, error = 0.0;
    struct timespec tick;
    int k, n;

    memcpy(real, inertias, sizeof real);
    for (k = 0; k < 10; k++)
        real[LAST_BODY + (size_t)k] *= 1.2;
    robot_kinematics(q, v, inertias, T, nu, drift, J);
    for (k = 0; k < 3; k++)
        center[k] = T[4 * k + 3];
    clock_gettime(CLOCK_MONOTONIC, &tick);
    for (n = 0; n < 2000; n++) {
        const double begin = seconds();
        robot_kinematics(q, v, inertias, T, nu, drift, J);
        wanted(n * dt, center, T, nu, a);
        for (k = 0; k < NV; k++)
            tau0[k] = -2.0 * v[k];
        task_torques(q, v, a, tau0, damping, tau);
        took = seconds() - begin;
        sum += took;
        worst = took > worst ? took : worst;
        error = hypot(hypot(center[0] + radius * (cos(turn * n * dt) - 1.0) - T[3],
                            center[1] + radius * sin(turn * n * dt) - T[7]),
                      center[2] - T[11]);
        robot_runge_kutta_step(q, v, tau, step, real, q_after, v_after); /* what the robot does */
        memcpy(q, q_after, sizeof q);
        memcpy(v, v_after, sizeof v);
        if (!fast) {
            tick.tv_nsec += 1000000;
            if (tick.tv_nsec >= 1000000000) {
                tick.tv_nsec -= 1000000000;
                tick.tv_sec++;
            }
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &tick, NULL);
        }
    }
    printf("hand off by %.3f mm; the controller took %.1f us of 1000, at most %.1f\n", 1e3 * error, 1e6 * sum / n,
           1e6 * worst);
    return error < 5e-3 ? 0 : 1;
}
