/* A stand-in for NVIDIA's management library, for tests of the real nvidia-ml-py.
 *
 * It reads the text file named by FAKE_NVML_FILE at every call, so a test can change the machine while it runs.
 * One line per card or instance, fields by '|', an empty field is "not supported":
 *   card|UUID|NAME|TOTAL|FREE|LOAD|TEMPERATURE|MILLIWATTS|MIG (0, 1 or empty)
 *   mig|UUID|NAME|TOTAL|FREE          (belongs to the card above it)
 *   process|PID|BYTES|KIND            (on the card or instance above it; KIND graphics, else it computes)
 *   noprocesses                       (the card or instance above it does not list its processes)
 *   lost                              (a card that answers nothing)
 *   nodriver                          (nvmlInit fails)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK 0
#define INVALID 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define INSUFFICIENT 7
#define NO_DRIVER 9
#define LOST 15
#define FIELDS 9
#define LINES 64

typedef struct { char text[512]; char *field[FIELDS]; int fields; } line_t;
static line_t lines[LINES];
static int count;

static void load(void) {
    count = 0;
    const char *path = getenv("FAKE_NVML_FILE");
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) return;
    while (count < LINES && fgets(lines[count].text, sizeof lines[count].text, file)) {
        line_t *line = &lines[count];
        line->text[strcspn(line->text, "\r\n")] = 0;
        if (!line->text[0]) continue;
        line->fields = 0;
        char *rest = line->text, *part;
        while (line->fields < FIELDS && (part = strsep(&rest, "|"))) line->field[line->fields++] = part;
        count++;
    }
    fclose(file);
}

static int is(const line_t *line, const char *kind) { return strcmp(line->field[0], kind) == 0; }

/* A handle is the number of its line plus one. */
static int find(void *handle, line_t **line) {
    load();
    long place = (long)handle - 1;
    if (place < 0 || place >= count) return INVALID;
    *line = &lines[place];
    return is(*line, "lost") ? LOST : OK;
}

static int text(void *handle, int field, char *out, unsigned size) {
    line_t *line;
    int result = find(handle, &line);
    if (result) return result;
    if (line->fields <= field || !line->field[field][0]) return NOT_SUPPORTED;
    snprintf(out, size, "%s", line->field[field]);
    return OK;
}

static int number(void *handle, int field, unsigned long long *out) {
    char digits[64];
    int result = text(handle, field, digits, sizeof digits);
    if (!result) *out = strtoull(digits, NULL, 10);
    return result;
}

int nvmlInitWithFlags(unsigned flags) { (void)flags; load(); return count && is(&lines[0], "nodriver") ? NO_DRIVER : OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "fake"; }

static int whole(const line_t *line) { return is(line, "card") || is(line, "lost"); }

int nvmlDeviceGetCount_v2(unsigned *out) {
    load();
    if (count && is(&lines[0], "nodriver")) return NO_DRIVER;
    *out = 0;
    for (int i = 0; i < count; i++) if (whole(&lines[i])) ++*out;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    load();
    for (int i = 0; i < count; i++) {
        if (!whole(&lines[i]) || index--) continue;
        *out = (void *)(long)(i + 1);
        return OK;
    }
    return INVALID;
}

int nvmlDeviceGetUUID(void *handle, char *out, unsigned size) { return text(handle, 1, out, size); }
int nvmlDeviceGetName(void *handle, char *out, unsigned size) { return text(handle, 2, out, size); }

int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long *out) {
    int result = number(handle, 3, &out[0]);
    if (!result) result = number(handle, 4, &out[1]);
    if (!result) out[2] = out[0] - out[1];
    return result;
}

int nvmlDeviceGetUtilizationRates(void *handle, unsigned *out) {
    unsigned long long value;
    int result = number(handle, 5, &value);
    if (!result) { out[0] = (unsigned)value; out[1] = 0; }
    return result;
}

int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *out) {
    unsigned long long value;
    int result = sensor ? INVALID : number(handle, 6, &value);
    if (!result) *out = (unsigned)value;
    return result;
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned *out) {
    unsigned long long value;
    int result = number(handle, 7, &value);
    if (!result) *out = (unsigned)value;
    return result;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
    unsigned long long value;
    int result = number(handle, 8, &value);
    if (!result) *current = *pending = (unsigned)value;
    return result;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *out) { (void)handle; *out = 7; return OK; }

int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **out) {
    load();
    for (long i = (long)handle; i < count && !whole(&lines[i]); i++)
        if (is(&lines[i], "mig") && !index--) { *out = (void *)(i + 1); return OK; }
    return NOT_FOUND;
}

typedef struct { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; } process_t;

static int processes(void *handle, const char *kind, unsigned *wanted, process_t *out) {
    line_t *line;
    int result = find(handle, &line);
    unsigned found = 0;
    if (result) return result;
    for (long i = (long)handle; i < count && !whole(&lines[i]) && !is(&lines[i], "mig"); i++) {
        if (is(&lines[i], "noprocesses")) return NOT_SUPPORTED;
        if (!is(&lines[i], "process")) continue;
        int draws = lines[i].fields > 3 && strcmp(lines[i].field[3], "graphics") == 0;
        if (draws != (strcmp(kind, "graphics") == 0)) continue;
        if (out && found < *wanted) {
            out[found].pid = (unsigned)strtoul(lines[i].field[1], NULL, 10);
            out[found].bytes = strtoull(lines[i].field[2], NULL, 10);
            out[found].gpu_instance = out[found].compute_instance = 0xFFFFFFFF;
        }
        found++;
    }
    int small = found > (out ? *wanted : 0);
    *wanted = found;
    return small ? INSUFFICIENT : OK;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *wanted, process_t *out) {
    return processes(handle, "compute", wanted, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned *wanted, process_t *out) {
    return processes(handle, "graphics", wanted, out);
}
