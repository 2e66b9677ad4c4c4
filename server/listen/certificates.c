// SPDX-License-Identifier: Apache-2.0
#include "listen/certificates.h"

#include <stdio.h>
#include <time.h>

#include "config/limits.h"
#include "dialect/condition.h"

static fc_tls_files_t files_of(const fc_listener_policy_t *said) {
  return (fc_tls_files_t){.certificate = said->tls_cert,
                          .key = said->tls_key,
                          .client_ca = said->client_ca};
}

fc_status_t fc_certificates_open(fc_endpoint_t *endpoint,
                                 const fc_listener_policy_t *said,
                                 fc_error_t *err) {
  if (!endpoint->policy.tls) return FC_OK;
  endpoint->tls_files = files_of(said);
  return fc_tls_keys_open(&endpoint->tls_files, endpoint->all->allocator,
                          &endpoint->tls_keys, err);
}

// Is the certificate valid now, and is its end far away?
static bool will_last(const fc_tls_keys_t *keys) {
  int64_t begin_s, end_s;
  const int64_t now_s = (int64_t)time(NULL);
  fc_tls_keys_dates(keys, &begin_s, &end_s);
  return now_s >= begin_s && end_s - now_s > FC_LIMIT_CERTIFICATE_S;
}

// A server also starts with an expired certificate: clients decide what they accept.
void fc_certificates_tell(const fc_endpoint_t *endpoint) {
  char dates[FC_TLS_DATES_MAX];
  if (!endpoint->tls_keys || will_last(endpoint->tls_keys)) return;
  (void)fc_tls_keys_hold(endpoint->tls_keys, time(NULL), dates);
  fc_log(endpoint->all->log, FC_LOG_WARN,
         "https://%s:%d has a certificate that %s", endpoint->host,
         endpoint->port, dates);
}

void fc_certificates_note(fc_endpoints_t *all) {
  fc_certificates_t dates = {0, INT64_MIN, INT64_MAX};
  for (uint32_t i = 0; i < all->count; i++) {
    int64_t begin_s, end_s;
    if (!all->rows[i].tls_keys) continue;
    fc_tls_keys_dates(all->rows[i].tls_keys, &begin_s, &end_s);
    if (begin_s > dates.begin_s) dates.begin_s = begin_s;
    if (end_s < dates.end_s) dates.end_s = end_s;
    dates.count++;
  }
  all->server->certificates = dates;
}

fc_status_t fc_certificates_check(const fc_server_options_t *options,
                                  fc_error_t *err) {
  fc_listener_policy_t said;
  fc_str_t item;
  for (uint32_t i = 0; fc_listener_at(options, i, &item, &said); i++) {
    fc_tls_keys_t *keys = NULL;
    if (fc_str_starts(item, FC_STR("unix:")) ||
        !fc_listener_has_tls(item, &said)) {
      continue;
    }
    const fc_tls_files_t files = files_of(&said);
    char dates[FC_TLS_DATES_MAX];
    FC_TRY(fc_tls_keys_open(&files, fc_allocator_system(), &keys, err));
    const bool hold = fc_tls_keys_hold(keys, time(NULL), dates);
    const bool lasts = will_last(keys);
    fc_tls_keys_close(keys);
    if (hold && !lasts) {
      fprintf(stderr, "farcalld: --tls-cert: '%.128s': the certificate %s\n",
              files.certificate, dates);
    }
    if (hold) continue;
    return fc_fail(err, FC_CODE_NOT_ACCEPTABLE,
                   "--tls-cert: '%.128s': the certificate %s",
                   files.certificate, dates);
  }
  return FC_OK;
}

// Runs in a thread, because it tries the keys by a handshake (fc_tls_keys_open).
static void read_keys(uv_work_t *work) {
  fc_endpoint_t *endpoint = work->data;
  fc_keys_reading_t *reading = &endpoint->reading;
  reading->status =
      fc_tls_keys_open(&endpoint->tls_files, endpoint->all->allocator,
                       &reading->keys, &reading->error);
}

static void take_keys(fc_endpoint_t *endpoint) {
  const fc_keys_reading_t *reading = &endpoint->reading;
  fc_log_t *log = endpoint->all->log;
  if (reading->status != FC_OK) {
    fc_log(log, FC_LOG_ERROR, "https://%s:%d keeps its certificate: %s",
           endpoint->host, endpoint->port, reading->error.message);
    fc_condition_note_reread(endpoint->all->server, FC_REREAD_CERTIFICATE,
                             &reading->error);
    return;
  }
  char dates[FC_TLS_DATES_MAX];
  (void)fc_tls_keys_hold(reading->keys, time(NULL), dates);
  fc_tls_keys_close(endpoint->tls_keys);
  endpoint->tls_keys = reading->keys;
  fc_certificates_note(endpoint->all);
  fc_log(log, will_last(reading->keys) ? FC_LOG_INFO : FC_LOG_WARN,
         "https://%s:%d has its certificate anew, which %s", endpoint->host,
         endpoint->port, dates);
}

static void reload_keys(fc_endpoint_t *endpoint);

static void on_keys(uv_work_t *work, int status) {
  fc_endpoint_t *endpoint = work->data;
  fc_keys_reading_t *reading = &endpoint->reading;
  (void)status;  // the work is never cancelled
  reading->working = false;
  take_keys(endpoint);
  if (reading->again) reload_keys(endpoint);
}

static void reload_keys(fc_endpoint_t *endpoint) {
  fc_keys_reading_t *reading = &endpoint->reading;
  reading->again = reading->working;
  if (reading->working) return;
  reading->working = true;
  reading->work.data = endpoint;
  // uv_queue_work fails only if it is given no function.
  (void)uv_queue_work(endpoint->all->uv, &reading->work, read_keys, on_keys);
}

void fc_certificates_reload(fc_endpoints_t *all) {
  fc_condition_note_reread(all->server, FC_REREAD_CERTIFICATE, NULL);
  for (uint32_t i = 0; i < all->count; i++) {
    if (all->rows[i].tls_keys) reload_keys(&all->rows[i]);
  }
}
